"""A trainer of radiance fields: a class that does everything, with an occupancy grid that is updated on the way."""

import os
import time

import numpy as np
import torch
import torch.distributed as dist
import tqdm
from rich.console import Console
from tensorboardX import SummaryWriter
from torch.nn.parallel import DistributedDataParallel
from torch_ema import ExponentialMovingAverage


class Trainer:
    def __init__(
        self,
        name,
        opt,
        model,
        criterion=None,
        optimizer=None,
        ema_decay=None,
        lr_scheduler=None,
        metrics=(),
        local_rank=0,
        world_size=1,
        device=None,
        mute=False,
        fp16=False,
        eval_interval=1,
        max_keep=2,
        workspace="workspace",
        best_mode="min",
        use_loss_as_metric=True,
        use_checkpoint="latest",
        use_tensorboard=True,
        accumulate=1,
        clip=0.0,
        scheduler_every_step=False,
    ):
        self.name, self.opt, self.mute, self.metrics = name, opt, mute, list(metrics)
        self.local_rank, self.world_size, self.workspace = local_rank, world_size, workspace
        self.ema_decay, self.fp16, self.best_mode = ema_decay, fp16, best_mode
        self.use_loss_as_metric, self.max_keep, self.eval_interval = use_loss_as_metric, max_keep, eval_interval
        self.use_checkpoint, self.use_tensorboard = use_checkpoint, use_tensorboard
        self.accumulate, self.clip, self.scheduler_every_step = accumulate, clip, scheduler_every_step
        self.time_stamp = time.strftime("%Y-%m-%d_%H-%M-%S")
        self.device = device if device is not None else torch.device(f"cuda:{local_rank}")
        self.console = Console()

        model.to(self.device)
        if self.world_size > 1:
            model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
            model = DistributedDataParallel(model, device_ids=[local_rank])
        self.model = model
        if isinstance(criterion, torch.nn.Module):
            criterion.to(self.device)
        self.criterion = criterion
        if optimizer is None:
            self.optimizer = torch.optim.Adam(self.model.parameters(), lr=0.001, weight_decay=5e-4)
        else:
            self.optimizer = optimizer(self.model)
        if lr_scheduler is None:
            self.lr_scheduler = torch.optim.lr_scheduler.LambdaLR(self.optimizer, lr_lambda=lambda epoch: 1)
        else:
            self.lr_scheduler = lr_scheduler(self.optimizer)
        if ema_decay is not None:
            self.ema = ExponentialMovingAverage(self.model.parameters(), decay=ema_decay)
        else:
            self.ema = None
        self.scaler = torch.amp.GradScaler("cuda", enabled=self.fp16)

        self.epoch, self.global_step, self.local_step = 0, 0, 0
        self.error_map = None
        self.stats = {"loss": [], "valid_loss": [], "results": [], "checkpoints": [], "best_result": None}
        if len(self.metrics) == 0 or self.use_loss_as_metric:
            self.best_mode = "min"
        self.log_file = None
        if self.workspace is not None:
            os.makedirs(self.workspace, exist_ok=True)
            self.log_file = open(os.path.join(self.workspace, f"log_{self.name}.txt"), "a+")
            self.checkpoint_path = os.path.join(self.workspace, "checkpoints")
            self.best_path = f"{self.checkpoint_path}/{self.name}.pth"
            os.makedirs(self.checkpoint_path, exist_ok=True)
        self.log(f"[INFO] {self.name} at {self.time_stamp} on {self.device}, {'fp16' if self.fp16 else 'fp32'}")
        if self.workspace is not None:
            if self.use_checkpoint == "scratch":
                self.log("[INFO] From scratch ...")
            elif self.use_checkpoint in ("latest", "latest_model"):
                self.log("[INFO] From the latest checkpoint ...")
                self.load_checkpoint(model_only=self.use_checkpoint == "latest_model")
            elif os.path.exists(self.use_checkpoint):
                self.load_checkpoint(self.use_checkpoint)

    def log(self, *args, **kwargs):
        if self.local_rank == 0:
            if not self.mute:
                self.console.print(*args, **kwargs)
            if self.log_file:
                print(*args, file=self.log_file)
                self.log_file.flush()

    # -- steps

    def train_step(self, data):
        origins, directions = data["rays_o"], data["rays_d"]
        if "images" not in data:
            outputs = self.model.render(
                origins, directions, staged=False, bg_color=None, perturb=True, **vars(self.opt)
            )
            rgb = outputs["image"]
            loss = self.criterion(rgb, data["text"])
            return rgb, None, loss
        images = data["images"]
        size, pixels, channels = images.shape
        if channels == 3 or self.opt.bg_radius > 0:
            background = 1
        elif self.opt.linear:
            background = torch.rand_like(images[..., :3])
        else:
            background = torch.rand(3, device=self.device)
        if channels == 4:
            truth = images[..., :3] * images[..., 3:] + background * (1 - images[..., 3:])
        else:
            truth = images
        outputs = self.model.render(
            origins,
            directions,
            staged=False,
            bg_color=background,
            perturb=True,
            force_all_rays=self.opt.patch_size != 1,
        )
        rgb = outputs["image"]
        loss = self.criterion(rgb, truth).mean(-1)
        if self.opt.patch_size > 1:
            truth_patches = truth.view(-1, self.opt.patch_size, self.opt.patch_size, 3).permute(0, 3, 1, 2)
            patches = rgb.view(-1, self.opt.patch_size, self.opt.patch_size, 3).permute(0, 3, 1, 2)
            loss = loss + 1e-3 * self.opt.perceptual(patches, truth_patches)
        if len(loss.shape) == 3:
            loss = loss.mean(0)
        if self.error_map is not None:
            index, inds = data["index"], data["inds_coarse"]
            error_map = self.error_map[index]
            error = loss.detach().to(error_map.device)
            error_map.scatter_(1, inds, 0.1 * error_map.gather(1, inds) + 0.9 * error)
            self.error_map[index] = error_map
        loss = loss.mean()
        if self.opt.distortion:
            loss = loss + self.opt.distortion * outputs["distortion"]
        return rgb, truth, loss

    def eval_step(self, data):
        images = data["images"]
        size, height, width, channels = images.shape
        truth = images[..., :3] * images[..., 3:] + (1 - images[..., 3:]) if channels == 4 else images
        outputs = self.model.render(data["rays_o"], data["rays_d"], staged=True, bg_color=1, perturb=False)
        rgb = outputs["image"].reshape(size, height, width, 3)
        depth = outputs["depth"].reshape(size, height, width)
        return rgb, depth, truth, self.criterion(rgb, truth).mean()

    # -- epochs

    def train(self, train_loader, valid_loader, max_epochs):
        if self.use_tensorboard and self.local_rank == 0:
            self.writer = SummaryWriter(os.path.join(self.workspace, "run", self.name))
        if self.model.cuda_ray:
            self.model.mark_untrained_grid(train_loader._data.poses, train_loader._data.intrinsics)
        self.error_map = train_loader._data.error_map
        for epoch in range(self.epoch + 1, max_epochs + 1):
            self.epoch = epoch
            self.train_one_epoch(train_loader)
            if self.workspace is not None and self.local_rank == 0:
                self.save_checkpoint(full=True, best=False)
            if self.epoch % self.eval_interval == 0:
                self.evaluate_one_epoch(valid_loader)
                self.save_checkpoint(full=False, best=True)
        if self.use_tensorboard and self.local_rank == 0:
            self.writer.close()

    def train_one_epoch(self, loader):
        self.log(f"==> Epoch {self.epoch}, lr={self.optimizer.param_groups[0]['lr']:.6f} ...")
        total_loss = 0
        if self.local_rank == 0:
            for metric in self.metrics:
                metric.clear()
        self.model.train()
        if self.world_size > 1:
            loader.sampler.set_epoch(self.epoch)
        if self.local_rank == 0:
            bar = tqdm.tqdm(total=len(loader) * loader.batch_size)
        self.local_step = 0
        self.optimizer.zero_grad()
        for data in loader:
            # the grid
            if self.model.cuda_ray and self.global_step % self.opt.update_extra_interval == 0:
                with torch.amp.autocast("cuda", dtype=torch.float16, enabled=self.fp16):
                    self.model.update_extra_state()
            self.local_step += 1
            self.global_step += 1

            with torch.amp.autocast("cuda", dtype=torch.float16, enabled=self.fp16):
                preds, truths, loss = self.train_step(data)
                loss = loss / self.accumulate
            self.scaler.scale(loss).backward()

            if self.local_step % self.accumulate == 0:
                if self.clip > 0:
                    self.scaler.unscale_(self.optimizer)
                    torch.nn.utils.clip_grad_norm_(self.model.parameters(), self.clip)
                scale_before = self.scaler.get_scale()
                self.scaler.step(self.optimizer)
                self.scaler.update()
                self.optimizer.zero_grad()
                if self.scheduler_every_step and self.scaler.get_scale() >= scale_before:
                    self.lr_scheduler.step()
                if self.ema is not None and self.opt.ema_every_step:
                    self.ema.update()

            loss_value = loss.item()
            total_loss += loss_value
            if self.local_rank == 0:
                for metric in self.metrics:
                    metric.update(preds, truths)
                if self.use_tensorboard:
                    self.writer.add_scalar("train/loss", loss_value, self.global_step)
                    self.writer.add_scalar("train/lr", self.optimizer.param_groups[0]["lr"], self.global_step)
                if self.scheduler_every_step:
                    bar.set_description(f"loss={loss_value:.4f}, lr={self.optimizer.param_groups[0]['lr']:.6f}")
                else:
                    bar.set_description(f"loss={loss_value:.4f} ({total_loss / self.local_step:.4f})")
                bar.update(loader.batch_size)

        if self.ema is not None and not self.opt.ema_every_step:
            self.ema.update()
        average_loss = total_loss / self.local_step
        self.stats["loss"].append(average_loss)
        if self.local_rank == 0:
            bar.close()
            for metric in self.metrics:
                self.log(metric.report(), style="red")
                if self.use_tensorboard:
                    metric.write(self.writer, self.epoch, prefix="train")
                metric.clear()
        if not self.scheduler_every_step:
            if isinstance(self.lr_scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
                self.lr_scheduler.step(average_loss)
            else:
                self.lr_scheduler.step()
        self.log(f"==> Finished epoch {self.epoch}.")

    def evaluate_one_epoch(self, loader, name=None):
        name = name or f"{self.name}_ep{self.epoch:04d}"
        total_loss = 0
        if self.local_rank == 0:
            for metric in self.metrics:
                metric.clear()
        self.model.eval()
        if self.ema is not None:
            self.ema.store()
            self.ema.copy_to()
        with torch.no_grad():
            self.local_step = 0
            for data in loader:
                self.local_step += 1
                with torch.amp.autocast("cuda", dtype=torch.float16, enabled=self.fp16):
                    preds, depths, truths, loss = self.eval_step(data)
                if self.world_size > 1:
                    dist.all_reduce(loss, op=dist.ReduceOp.SUM)
                    loss = loss / self.world_size
                total_loss += loss.item()
                if self.local_rank == 0:
                    for metric in self.metrics:
                        metric.update(preds, truths)
                    path = os.path.join(self.workspace, "validation", f"{name}_{self.local_step:04d}.npy")
                    os.makedirs(os.path.dirname(path), exist_ok=True)
                    np.save(path, preds[0].cpu().numpy())
        average_loss = total_loss / self.local_step
        self.stats["valid_loss"].append(average_loss)
        if self.local_rank == 0:
            if not self.use_loss_as_metric and len(self.metrics) > 0:
                result = self.metrics[0].measure()
                self.stats["results"].append(result if self.best_mode == "min" else -result)
            else:
                self.stats["results"].append(average_loss)
        if self.ema is not None:
            self.ema.restore()

    # -- checkpoints

    def save_checkpoint(self, name=None, full=False, best=False):
        name = name or f"{self.name}_ep{self.epoch:04d}"
        state = {"epoch": self.epoch, "global_step": self.global_step, "stats": self.stats}
        if self.model.cuda_ray:
            state["mean_density"] = self.model.mean_density
        if full:
            state["optimizer"] = self.optimizer.state_dict()
            state["lr_scheduler"] = self.lr_scheduler.state_dict()
            state["scaler"] = self.scaler.state_dict()
            if self.ema is not None:
                state["ema"] = self.ema.state_dict()
        if not best:
            state["model"] = self.model.state_dict()
            path = f"{self.checkpoint_path}/{name}.pth"
            self.stats["checkpoints"].append(path)
            if len(self.stats["checkpoints"]) > self.max_keep:
                old = self.stats["checkpoints"].pop(0)
                if os.path.exists(old):
                    os.remove(old)
            torch.save(state, path)
        elif len(self.stats["results"]) > 0:
            if self.stats["best_result"] is None or self.stats["results"][-1] < self.stats["best_result"]:
                self.stats["best_result"] = self.stats["results"][-1]
                if self.ema is not None:
                    self.ema.store()
                    self.ema.copy_to()
                state["model"] = self.model.state_dict()
                if self.ema is not None:
                    self.ema.restore()
                torch.save(state, self.best_path)

    def load_checkpoint(self, checkpoint=None, model_only=False):
        if checkpoint is None:
            found = sorted(os.listdir(self.checkpoint_path))
            if not found:
                self.log("[WARN] No checkpoint.")
                return
            checkpoint = os.path.join(self.checkpoint_path, found[-1])
        state = torch.load(checkpoint, map_location=self.device)
        if "model" not in state:
            self.model.load_state_dict(state)
            return
        missing, unexpected = self.model.load_state_dict(state["model"], strict=False)
        if len(missing) > 0:
            self.log(f"[WARN] missing keys: {missing}")
        if self.ema is not None and "ema" in state:
            self.ema.load_state_dict(state["ema"])
        if self.model.cuda_ray and "mean_density" in state:
            self.model.mean_density = state["mean_density"]
        if model_only:
            return
        self.stats, self.epoch, self.global_step = state["stats"], state["epoch"], state["global_step"]
        if "optimizer" in state:
            self.optimizer.load_state_dict(state["optimizer"])
        if "lr_scheduler" in state:
            self.lr_scheduler.load_state_dict(state["lr_scheduler"])
        if "scaler" in state:
            self.scaler.load_state_dict(state["scaler"])
