"""Trains video super-resolution against a discriminator: one function with helpers of its own for each part of a step."""

import argparse
import datetime
import json
import random
from collections import deque
from pathlib import Path

import torch
import torch.nn.functional as F
from accelerate.logging import get_logger
from einops import rearrange
from torch.utils.data import DataLoader

from video import metrics
from video.data import Clips, collate
from video.discriminator import Discriminator
from video.flow import FlowNet, warp
from video.losses import CharbonnierLoss, FeatureLoss, hinge_d, hinge_g
from video.model import Upscaler
from video.plots import save_grid

logger = get_logger(__name__)


def train(cfg):
    folder = Path(cfg.output) / datetime.datetime.now().strftime("%Y%m%d_%H%M%S")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "config.json").write_text(json.dumps(vars(cfg), default=str))
    random.seed(cfg.seed)
    torch.manual_seed(cfg.seed)
    device = torch.device("cuda")

    upscaler = Upscaler(cfg.width, cfg.blocks, cfg.factor).to(device)
    critic = Discriminator(cfg.critic_width).to(device)
    flow_net = FlowNet().to(device).eval().requires_grad_(False)
    features = FeatureLoss(cfg.feature_layers).to(device).eval().requires_grad_(False)
    pixel = CharbonnierLoss()
    history = {"pixel": deque(maxlen=100), "feature": deque(maxlen=100), "gan": deque(maxlen=100)}

    if cfg.freeze_backbone:
        upscaler.backbone.requires_grad_(False)
    if cfg.gradient_checkpointing:
        upscaler.enable_checkpointing()
    if cfg.channels_last:
        upscaler = upscaler.to(memory_format=torch.channels_last)
        critic = critic.to(memory_format=torch.channels_last)
    trainable = [parameter for parameter in upscaler.parameters() if parameter.requires_grad]
    optimizer_g = torch.optim.AdamW(trainable, lr=cfg.lr, betas=(0.9, 0.99), weight_decay=cfg.weight_decay)
    optimizer_d = torch.optim.Adam(critic.parameters(), lr=cfg.lr_critic, betas=(0.9, 0.99))
    scheduler_g = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer_g, T_max=cfg.steps, eta_min=cfg.lr_min)
    scaler = torch.amp.GradScaler("cuda", init_scale=cfg.init_scale)
    averaged = torch.optim.swa_utils.AveragedModel(
        upscaler, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.999)
    )

    train_loader = DataLoader(
        Clips(cfg.train_folder, cfg.frames, cfg.crop, cfg.factor),
        batch_size=cfg.batch_size,
        shuffle=True,
        num_workers=cfg.workers,
        collate_fn=collate,
        drop_last=True,
    )
    val_loader = DataLoader(Clips(cfg.val_folder, cfg.frames, None, cfg.factor), batch_size=1, collate_fn=collate)
    step, best = 0, 0.0

    def save(name):
        torch.save(
            {
                "step": step,
                "best": best,
                "upscaler": upscaler.state_dict(),
                "critic": critic.state_dict(),
                "averaged": averaged.state_dict(),
                "optimizer_g": optimizer_g.state_dict(),
                "optimizer_d": optimizer_d.state_dict(),
                "scheduler_g": scheduler_g.state_dict(),
                "scaler": scaler.state_dict(),
            },
            folder / name,
        )

    def resume(path):
        state = torch.load(path, map_location=device)
        upscaler.load_state_dict(state["upscaler"])
        critic.load_state_dict(state["critic"])
        averaged.load_state_dict(state["averaged"])
        optimizer_g.load_state_dict(state["optimizer_g"])
        optimizer_d.load_state_dict(state["optimizer_d"])
        scheduler_g.load_state_dict(state["scheduler_g"])
        scaler.load_state_dict(state["scaler"])
        return state["step"], state["best"]

    def align(frames, reference):
        with torch.no_grad():
            count = frames.shape[1]
            flows = [flow_net(frames[:, number], reference) for number in range(count)]
        return torch.stack([warp(frames[:, number], flows[number]) for number in range(count)], dim=1)

    def degrade(frames):
        flat = rearrange(frames, "b t c h w -> (b t) c h w")
        if cfg.blur > 0 and random.random() < cfg.blur_chance:
            flat = F.avg_pool2d(F.pad(flat, (1, 1, 1, 1), mode="reflect"), 3, stride=1)
        if cfg.noise > 0:
            flat = flat + torch.randn_like(flat) * cfg.noise * random.random()
        if cfg.jpeg:
            flat = (flat * 255).round() / 255
        flat = F.interpolate(flat, scale_factor=1 / cfg.factor, mode="bicubic", antialias=True)
        return rearrange(flat, "(b t) c h w -> b t c h w", b=frames.shape[0]).clamp(0, 1)

    def generator_loss(low, high):
        middle = high[:, high.shape[1] // 2]
        with torch.amp.autocast("cuda", dtype=torch.float16):
            made = upscaler(align(low, low[:, low.shape[1] // 2]) if cfg.align else low)
            loss = cfg.pixel_weight * pixel(made, middle)
            history["pixel"].append(loss.detach())
            if cfg.feature_weight > 0:
                feature = features(made, middle)
                history["feature"].append(feature.detach())
                loss = loss + cfg.feature_weight * feature
            if cfg.edge_weight > 0:
                loss = loss + cfg.edge_weight * pixel(made.diff(dim=-1), middle.diff(dim=-1))
            if cfg.color_weight > 0:
                loss = loss + cfg.color_weight * pixel(F.avg_pool2d(made, 8), F.avg_pool2d(middle, 8))
            if cfg.gan_weight > 0 and step >= cfg.gan_start:
                gan = hinge_g(critic(made))
                history["gan"].append(gan.detach())
                loss = loss + cfg.gan_weight * gan
        return loss, made

    def critic_loss(made, high):
        middle = high[:, high.shape[1] // 2]
        with torch.amp.autocast("cuda", dtype=torch.float16):
            real = critic(middle)
            fake = critic(made.detach())
            loss = hinge_d(real, fake)
            if cfg.critic_noise > 0:
                loss = loss + 0.5 * hinge_d(critic(middle + cfg.critic_noise * torch.randn_like(middle)), fake)
        return loss

    def optimize(loss, optimizer, parameters, limit):
        optimizer.zero_grad(set_to_none=True)
        scaler.scale(loss).backward()
        if limit > 0:
            scaler.unscale_(optimizer)
            torch.nn.utils.clip_grad_norm_(parameters, limit)
        scaler.step(optimizer)

    @torch.no_grad()
    def validate():
        upscaler.eval()
        totals = {"psnr": 0.0, "ssim": 0.0}
        for number, (high, _) in enumerate(val_loader):
            high = high.to(device)
            low = degrade(high)
            with torch.amp.autocast("cuda", dtype=torch.float16):
                made = averaged(low) if cfg.use_average and step > cfg.average_start else upscaler(low)
            made = made.float().clamp(0, 1)
            middle = high[:, high.shape[1] // 2]
            totals["psnr"] += metrics.psnr(made, middle)
            totals["ssim"] += metrics.ssim(made, middle)
            if number < cfg.plots:
                save_grid([low[:, low.shape[1] // 2], made, middle], folder / f"{step:07d}_{number}.png")
        upscaler.train()
        return {key: value / len(val_loader) for key, value in totals.items()}

    if cfg.resume:
        step, best = resume(cfg.resume)
        logger.info("Goes on from step %s", step)
    upscaler.train()
    critic.train()
    while step < cfg.steps:
        for high, paths in train_loader:
            high = high.to(device, non_blocking=True)
            if cfg.flip and random.random() < 0.5:
                high = high.flip(-1)
            if cfg.reverse and random.random() < 0.5:
                high = high.flip(1)
            low = degrade(high)
            if cfg.channels_last:
                low = low.contiguous()

            critic.requires_grad_(False)
            loss, made = generator_loss(low, high)
            optimize(loss, optimizer_g, trainable, cfg.clip)
            adversarial = cfg.gan_weight > 0 and step >= cfg.gan_start
            if adversarial:
                critic.requires_grad_(True)
                loss_d = critic_loss(made, high)
                optimize(loss_d, optimizer_d, critic.parameters(), cfg.clip_critic)
            scale_before = scaler.get_scale()
            scaler.update()
            if scaler.get_scale() >= scale_before:
                scheduler_g.step()
            if cfg.use_average:
                averaged.update_parameters(upscaler)

            if step % cfg.log_every == 0:
                logger.info(
                    "%07d lr %.2e scale %.0f %s",
                    step,
                    optimizer_g.param_groups[0]["lr"],
                    scaler.get_scale(),
                    {key: torch.stack(list(values)).mean().item() for key, values in history.items() if values},
                )
            if step % cfg.validate_every == 0 and step > 0:
                result = validate()
                logger.info("%07d %s", step, result)
                if result["psnr"] > best:
                    best = result["psnr"]
                    save("best.pt")
            if step % cfg.save_every == 0 and step > 0:
                save("last.pt")
            if step % cfg.sample_every == 0:
                save_grid([made.detach().float()], folder / f"train_{step:07d}.png")
            step += 1
            if step >= cfg.steps:
                break
    save("last.pt")
    return best


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--output", default="runs")
    parser.add_argument("--resume", default="")
    parser.add_argument("--steps", type=int, default=300_000)
    train(parser.parse_args())
