"""Which optimizer a schedule belongs to, where one steps through the scaler and another one on its own."""

from __future__ import annotations

from pathlib import Path

from project import check, project

LOOPS = """
    import torch


    def train_one_epoch(generator, critic, loader, optimizer_g, optimizer_d, scheduler_g, scheduler_d, scaler):
        for real in loader:
            optimizer_d.zero_grad()
            critic(real).mean().backward()
            optimizer_d.step()
            scheduler_d.step()
            optimizer_g.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = -critic(generator(real)).mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer_g)
            scaler.update()
            scheduler_g.step()


    def train_one_network(generator, critic, loader, critic_optimizer, scaler):
        optimizer = torch.optim.AdamW(generator.parameters())
        schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, 1e-3, total_steps=1000)
        for real in loader:
            critic_optimizer.zero_grad()
            critic(real).mean().backward()
            critic_optimizer.step()
            optimizer.zero_grad()
            with torch.autocast("cuda", dtype=torch.float16):
                loss = -critic(generator(real)).mean()
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            schedule.step()
"""


def test_a_schedule_that_is_named_after_the_scaled_optimizer_or_made_for_it_has_to_wait_for_its_steps(
    tmp_path: Path,
) -> None:
    report = check(project(tmp_path, train=LOOPS), "train.py")
    said = [(each.code, each.message.partition("`")[2].partition("`")[0]) for each in report.diagnostics]
    assert said == [("AMP107", "scheduler_g"), ("AMP107", "schedule")]
