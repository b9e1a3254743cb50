"""Paths through loops, and on from one iteration. Each program is marked (`#! kind`) where it is wrong on one of them."""

from __future__ import annotations

import pytest
from lowered import found, in_loop, kinds, marked

LOOPS = {
    "the second round": """
        scaler.scale(loss).backward()
        clip_grad_norm_(model.parameters(), 1.0)  #! clip-before-unscale
        scaler.step(optimizer)
        scaler.update()
    """,
    "an inner loop accumulates": """
        for part in batch:
            scaler.scale(model(part).mean()).backward()
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    """,
    "while": """
        pending = 4
        while pending > 0:
            scaler.scale(model(batch).mean()).backward()
            pending -= 1
        clip_grad_norm_(model.parameters(), 1.0)  #! clip-before-unscale
        scaler.step(optimizer)
        scaler.update()
    """,
    "else of a loop": """
        for part in batch:
            scaler.scale(model(part).mean()).backward()
        else:
            scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    """,
    "a counter kept by hand": """
        scaler.scale(loss).backward()
        count += 1
        if count >= args.accumulate:
            scaler.unscale_(optimizer)
            clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
            count = 0
    """,
    "the last batch": """
        scaler.scale(loss / 4).backward()
        if (step + 1) % 4 == 0 or step + 1 == len(loader):
            clip_grad_norm_(model.parameters(), 1.0)  #! clip-before-unscale
            scaler.step(optimizer)
            scaler.update()
    """,
    "a comprehension that calls": """
        [scaler.scale(model(part).mean()).backward() for part in batch]
        clip_grad_norm_(model.parameters(), 1.0)  #! clip-before-unscale
        scaler.step(optimizer)
        scaler.update()
    """,
    "a question outside of an inner loop keeps its answer in it": """
        scaler.scale(loss).backward()
        if self.due(step):
            scaler.unscale_(optimizer)
        for part in batch:
            log(part)
            loss = loss + model(part)
        if self.due(step):
            clip_grad_norm_(model.parameters(), 1.0)
            scaler.step(optimizer)
            scaler.update()
    """,
    "and inside": """
        scaler.scale(loss).backward()
        if self.due(step):
            scaler.unscale_(optimizer)
        for group in model.groups:
            if self.due(step):
                clip_grad_norm_(group.parameters(), 1.0)
            loss = loss + group(loss)
        if self.due(step):
            scaler.step(optimizer)
            scaler.update()
    """,
    "each inner iteration asks anew": """
        for part in batch:
            if self.due(part):
                scaler.unscale_(optimizer)  #! repeated-unscale #! unscale-in-accumulation
            else:
                scaler.scale(model(part).mean()).backward()
            if self.due(part):
                clip_grad_norm_(model.parameters(), 1.0)
    """,
    "while True": """
        while True:
            scaler.scale(model(batch).mean()).backward()
            if done():
                break
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    """,
}

GATES = {
    "ungated": """
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()  #! scheduler-not-gated
    """,
    "the scale did not fall": """
        scale = scaler.get_scale()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if scale <= scaler.get_scale():
            scheduler.step()
    """,
    "the scale fell": """
        before = scaler.get_scale()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() < before:
            log("skipped")
        else:
            scheduler.step()
    """,
    "the wrong side": """
        before = scaler.get_scale()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if scaler.get_scale() < before:
            scheduler.step()  #! scheduler-not-gated
    """,
    "asked too early": """
        before = scaler.get_scale()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        if scaler.get_scale() >= before:
            scheduler.step()  #! scheduler-not-gated
        scaler.update()
    """,
    "kept in a variable": """
        before = scaler.get_scale()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        stepped = scaler.get_scale() >= before
        if stepped and not args.constant:
            scheduler.step()
    """,
    "a flag of the run is no gate": """
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if args.warm_restarts:
            scheduler.step()  #! scheduler-not-gated
    """,
}

PROGRAMS = {
    f"{family}: {name}": in_loop(body)
    for family, bodies in {"loop": LOOPS, "gate": GATES}.items()
    for name, body in bodies.items()
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_feasible_paths(program: str) -> None:
    assert found(program) == marked(program)


def test_a_scheduler_of_the_epoch() -> None:
    body = "scaler.scale(loss).backward()\nscaler.step(optimizer)\nscaler.update()"
    assert kinds(in_loop(body, after="scheduler.step()")) == []
    assert kinds(in_loop(f"{body}\nscheduler.step()")) == ["scheduler-not-gated"]
