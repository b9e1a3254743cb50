"""Trains an object detector: one long function, as detectors of one family are trained, with an option for everything."""

import argparse
import logging
import math
import random
import time
from copy import deepcopy
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.nn as nn
import torch.nn.functional as F
import torch.optim as optim
import torch.optim.lr_scheduler as lr_scheduler
import yaml
from torch.nn.parallel import DistributedDataParallel
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from detection import evaluate
from detection.anchors import check_anchors
from detection.data import create_loader, image_weights_of, labels_to_class_weights
from detection.ema import ModelEMA
from detection.files import find_latest, increment_path, strip_optimizer
from detection.loss import DetectionLoss
from detection.model import Detector
from detection.plots import plot_images, plot_labels, plot_results

logger = logging.getLogger(__name__)


def train(hyp, opt, device, callbacks, writer=None):
    save_dir, epochs, batch_size, total_batch_size = (
        Path(opt.save_dir),
        opt.epochs,
        opt.batch_size,
        opt.total_batch_size,
    )
    weights, rank, resume, noval, nosave = opt.weights, opt.rank, opt.resume, opt.noval, opt.nosave
    folder = save_dir / "weights"
    folder.mkdir(parents=True, exist_ok=True)
    last, best, results_file = folder / "last.pt", folder / "best.pt", save_dir / "results.txt"

    with open(save_dir / "hyp.yaml", "w") as stream:
        yaml.dump(hyp, stream, sort_keys=False)
    with open(save_dir / "opt.yaml", "w") as stream:
        yaml.dump(vars(opt), stream, sort_keys=False)
    callbacks.run("on_pretrain_routine_start")

    plots = not opt.evolve and not opt.noplots
    cuda = device.type != "cpu"
    random.seed(2 + rank)
    np.random.seed(2 + rank)
    torch.manual_seed(2 + rank)
    with open(opt.data) as stream:
        data = yaml.safe_load(stream)
    names = ["item"] if opt.single_cls and len(data["names"]) != 1 else data["names"]
    count = 1 if opt.single_cls else int(data["nc"])
    assert len(names) == count, f"{len(names)} names for {count} classes in {opt.data}"

    # Model
    pretrained = weights.endswith(".pt")
    checkpoint = None
    if pretrained:
        checkpoint = torch.load(weights, map_location="cpu")
        model = Detector(opt.cfg or checkpoint["cfg"], channels=3, classes=count, anchors=hyp.get("anchors")).to(device)
        exclude = ["anchor"] if (opt.cfg or hyp.get("anchors")) and not resume else []
        state = {
            key: value
            for key, value in checkpoint["model"].items()
            if key in model.state_dict() and not any(word in key for word in exclude)
        }
        model.load_state_dict(state, strict=False)
        logger.info("Transferred %g of %g items from %s", len(state), len(model.state_dict()), weights)
    else:
        model = Detector(opt.cfg, channels=3, classes=count, anchors=hyp.get("anchors")).to(device)

    freeze = [f"model.{number}." for number in range(opt.freeze)]
    for key, value in model.named_parameters():
        value.requires_grad = True
        if any(word in key for word in freeze):
            logger.info("freezing %s", key)
            value.requires_grad = False

    # Optimizer
    nominal = 64
    accumulate = max(round(nominal / total_batch_size), 1)
    hyp["weight_decay"] *= total_batch_size * accumulate / nominal
    plain, decayed, biases = [], [], []
    for module in model.modules():
        if hasattr(module, "bias") and isinstance(module.bias, nn.Parameter):
            biases.append(module.bias)
        if isinstance(module, nn.BatchNorm2d):
            plain.append(module.weight)
        elif hasattr(module, "weight") and isinstance(module.weight, nn.Parameter):
            decayed.append(module.weight)
        if hasattr(module, "implicit"):
            for each in module.implicit:
                plain.append(each)
    if opt.adam:
        optimizer = optim.Adam(plain, lr=hyp["lr0"], betas=(hyp["momentum"], 0.999))
    elif opt.adamw:
        optimizer = optim.AdamW(plain, lr=hyp["lr0"], betas=(hyp["momentum"], 0.999))
    else:
        optimizer = optim.SGD(plain, lr=hyp["lr0"], momentum=hyp["momentum"], nesterov=True)
    optimizer.add_param_group({"params": decayed, "weight_decay": hyp["weight_decay"]})
    optimizer.add_param_group({"params": biases})
    del plain, decayed, biases

    if opt.linear_lr:
        lf = lambda epoch: (1 - epoch / (epochs - 1)) * (1.0 - hyp["lrf"]) + hyp["lrf"]
    else:
        lf = lambda epoch: ((1 - math.cos(epoch * math.pi / epochs)) / 2) * (hyp["lrf"] - 1) + 1
    scheduler = lr_scheduler.LambdaLR(optimizer, lr_lambda=lf)
    scaler = torch.amp.GradScaler("cuda", enabled=cuda)
    ema = ModelEMA(model) if rank in (-1, 0) else None

    # Resume
    start_epoch, best_fitness = 0, 0.0
    if pretrained and resume:
        if checkpoint["optimizer"] is not None:
            optimizer.load_state_dict(checkpoint["optimizer"])
            best_fitness = checkpoint["best_fitness"]
        if checkpoint.get("scaler") is not None:
            scaler.load_state_dict(checkpoint["scaler"])
        if ema and checkpoint.get("ema"):
            ema.ema.load_state_dict(checkpoint["ema"])
            ema.updates = checkpoint["updates"]
        if checkpoint.get("training_results") is not None:
            results_file.write_text(checkpoint["training_results"])
        start_epoch = checkpoint["epoch"] + 1
        assert start_epoch > 0, f"{weights} is trained to the end"
        if epochs < start_epoch:
            logger.info("%s has been trained for %g epochs, %g more follow", weights, checkpoint["epoch"], epochs)
            epochs += checkpoint["epoch"]
    del checkpoint

    # Sizes and data
    grid = max(int(model.stride.max()), 32)
    heads = model.head.count
    size, size_val = (each if each % grid == 0 else math.ceil(each / grid) * grid for each in opt.img_size)
    if cuda and rank == -1 and torch.cuda.device_count() > 1 and opt.data_parallel:
        model = torch.nn.DataParallel(model)
    if opt.sync_bn and cuda and rank != -1:
        model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model).to(device)
    loader, dataset = create_loader(
        data["train"],
        size,
        batch_size,
        grid,
        opt,
        hyp=hyp,
        augment=True,
        cache=opt.cache_images,
        rect=opt.rect,
        rank=rank,
        workers=opt.workers,
        image_weights=opt.image_weights,
        prefix="train: ",
    )
    highest = np.concatenate(dataset.labels, 0)[:, 0].max()
    batches = len(loader)
    assert highest < count, f"class {highest} is beyond the {count} classes of {opt.data}"
    if rank in (-1, 0):
        val_loader = create_loader(
            data["val"],
            size_val,
            batch_size * 2,
            grid,
            opt,
            hyp=hyp,
            cache=opt.cache_images and not noval,
            rect=True,
            rank=-1,
            workers=opt.workers * 2,
            prefix="val: ",
        )[0]
        if not resume:
            labels = np.concatenate(dataset.labels, 0)
            if plots:
                plot_labels(labels, names, save_dir)
                if writer:
                    writer.add_histogram("classes", torch.tensor(labels[:, 0]), 0)
            if not opt.noautoanchor:
                check_anchors(dataset, model=model, threshold=hyp["anchor_t"], size=size)
            model.float()
        callbacks.run("on_pretrain_routine_end")
    if cuda and rank != -1:
        model = DistributedDataParallel(
            model,
            device_ids=[opt.local_rank],
            output_device=opt.local_rank,
            find_unused_parameters=any(isinstance(layer, nn.MultiheadAttention) for layer in model.modules()),
        )

    # Weights of the parts of the loss
    hyp["box"] *= 3.0 / heads
    hyp["cls"] *= count / 80.0 * 3.0 / heads
    hyp["obj"] *= (size / 640) ** 2 * 3.0 / heads
    hyp["label_smoothing"] = opt.label_smoothing
    model.nc, model.hyp, model.names = count, hyp, names
    model.class_weights = labels_to_class_weights(dataset.labels, count).to(device) * count

    # Start
    started = time.time()
    warm = max(round(hyp["warmup_epochs"] * batches), 1000)
    last_step = -1
    maps = np.zeros(count)
    results = (0, 0, 0, 0, 0, 0, 0)
    scheduler.last_epoch = start_epoch - 1
    compute_loss = DetectionLoss(model)
    stopped = False
    callbacks.run("on_train_start")
    logger.info("Sizes %g and %g, %g workers, %g epochs, to %s", size, size_val, loader.num_workers, epochs, save_dir)
    for epoch in range(start_epoch, epochs):
        callbacks.run("on_train_epoch_start")
        model.train()
        if opt.image_weights:
            if rank in (-1, 0):
                class_weights = model.class_weights.cpu().numpy() * (1 - maps) ** 2 / count
                dataset.indices = random.choices(
                    range(dataset.n), weights=image_weights_of(dataset.labels, count, class_weights), k=dataset.n
                )
            if rank != -1:
                indices = (torch.tensor(dataset.indices) if rank == 0 else torch.zeros(dataset.n)).int()
                dist.broadcast(indices, 0)
                if rank != 0:
                    dataset.indices = indices.cpu().numpy()
        if hyp.get("mosaic_border"):
            border = int(random.uniform(0.25 * size, 0.75 * size + grid) // grid * grid)
            dataset.mosaic_border = [border - size, -border]

        mean_loss = torch.zeros(4, device=device)
        if rank != -1:
            loader.sampler.set_epoch(epoch)
        bar = enumerate(loader)
        logger.info(("\n" + "%10s" * 8), "Epoch", "gpu_mem", "box", "obj", "cls", "total", "labels", "img_size")
        if rank in (-1, 0):
            bar = tqdm(bar, total=batches)
        optimizer.zero_grad()
        for index, (images, targets, paths, _) in bar:
            callbacks.run("on_train_batch_start")
            done = index + batches * epoch
            images = images.to(device, non_blocking=True).float() / 255.0

            # Warm-up
            if done <= warm:
                span = [0, warm]
                accumulate = max(1, np.interp(done, span, [1, nominal / total_batch_size]).round())
                for number, group in enumerate(optimizer.param_groups):
                    first = hyp["warmup_bias_lr"] if number == 2 else 0.0
                    group["lr"] = np.interp(done, span, [first, group["initial_lr"] * lf(epoch)])
                    if "momentum" in group:
                        group["momentum"] = np.interp(done, span, [hyp["warmup_momentum"], hyp["momentum"]])

            # Multi-scale
            if opt.multi_scale:
                wanted = random.randrange(int(size * 0.5), int(size * 1.5) + grid) // grid * grid
                factor = wanted / max(images.shape[2:])
                if factor != 1:
                    shape = [math.ceil(side * factor / grid) * grid for side in images.shape[2:]]
                    images = F.interpolate(images, size=shape, mode="bilinear", align_corners=False)

            # Forward
            with torch.amp.autocast("cuda", dtype=torch.float16, enabled=cuda):
                predicted = model(images)
                if opt.ota_loss:
                    loss, loss_items = compute_loss(predicted, targets.to(device), images)
                else:
                    loss, loss_items = compute_loss(predicted, targets.to(device))
                if rank != -1:
                    loss *= opt.world_size
                if opt.quad:
                    loss *= 4.0

            # Backward
            scaler.scale(loss).backward()

            # Step
            if done - last_step >= accumulate:
                scaler.unscale_(optimizer)
                torch.nn.utils.clip_grad_norm_(model.parameters(), max_norm=10.0)
                scaler.step(optimizer)
                scaler.update()
                optimizer.zero_grad()
                if ema:
                    ema.update(model)
                last_step = done

            # Print
            if rank in (-1, 0):
                mean_loss = (mean_loss * index + loss_items) / (index + 1)
                memory = f"{torch.cuda.memory_reserved() / 1e9 if torch.cuda.is_available() else 0:.3g}G"
                line = ("%10s" * 2 + "%10.4g" * 6) % (
                    f"{epoch}/{epochs - 1}",
                    memory,
                    *mean_loss,
                    targets.shape[0],
                    images.shape[-1],
                )
                bar.set_description(line)
                if plots and done < 10:
                    plot_images(images=images, targets=targets, paths=paths, file=save_dir / f"batch{done}.jpg")
                elif plots and done == 10 and writer:
                    writer.add_graph(torch.jit.trace(model, images, strict=False), [])
                callbacks.run("on_train_batch_end", done, model, images, targets, paths, plots)
                if callbacks.stop_training:
                    return results

        # Schedule
        rates = [group["lr"] for group in optimizer.param_groups]
        scheduler.step()

        if rank in (-1, 0):
            ema.update_attr(model, include=["yaml", "nc", "hyp", "names", "stride", "class_weights"])
            final = epoch + 1 == epochs
            if not noval or final:
                results, maps, times = evaluate.run(
                    data,
                    batch_size=batch_size * 2,
                    size=size_val,
                    model=ema.ema,
                    single_cls=opt.single_cls,
                    loader=val_loader,
                    save_dir=save_dir,
                    verbose=count < 50 and final,
                    plots=plots and final,
                    compute_loss=compute_loss,
                    half=cuda,
                )
            with open(results_file, "a") as stream:
                stream.write(line + "%10.4g" * 7 % results + "\n")
            tags = ["train/box", "train/obj", "train/cls", "precision", "recall", "map50", "map", "val/box", "val/obj"]
            for value, tag in zip([*mean_loss[:-1], *results, *rates], tags):
                if writer:
                    writer.add_scalar(tag, value, epoch)
            fitness = float(np.dot(results[:4], [0.0, 0.0, 0.1, 0.9]))
            if fitness > best_fitness:
                best_fitness = fitness
            callbacks.run("on_fit_epoch_end", results, epoch, best_fitness, fitness)

            # Checkpoint
            if (not nosave) or (final and not opt.evolve):
                kept = {
                    "epoch": epoch,
                    "best_fitness": best_fitness,
                    "training_results": results_file.read_text(),
                    "model": deepcopy(model.module if rank != -1 else model).state_dict(),
                    "ema": deepcopy(ema.ema).state_dict(),
                    "updates": ema.updates,
                    "optimizer": optimizer.state_dict(),
                    "scaler": scaler.state_dict(),
                    "cfg": opt.cfg,
                }
                torch.save(kept, last)
                if best_fitness == fitness:
                    torch.save(kept, best)
                if opt.save_period > 0 and epoch % opt.save_period == 0:
                    torch.save(kept, folder / f"epoch{epoch:03d}.pt")
                del kept
                callbacks.run("on_model_save", last, epoch, final, best_fitness, fitness)
            stopped = opt.patience > 0 and epoch - best_fitness > opt.patience
        if rank != -1:
            answer = [stopped if rank == 0 else None]
            dist.broadcast_object_list(answer, 0)
            stopped = answer[0]
        if stopped:
            break

    # End
    if rank in (-1, 0):
        logger.info("%g epochs in %.3f hours", epoch - start_epoch + 1, (time.time() - started) / 3600)
        if plots:
            plot_results(save_dir=save_dir)
        for path in (last, best):
            if path.exists():
                strip_optimizer(path)
                if path is best:
                    logger.info("Validating %s", path)
                    results, _, _ = evaluate.run(
                        data, batch_size=batch_size * 2, size=size_val, model=best, loader=val_loader, save_dir=save_dir
                    )
        callbacks.run("on_train_end", last, best, plots, epoch)
    else:
        dist.destroy_process_group()
    torch.cuda.empty_cache()
    return results


def main(callbacks):
    parser = argparse.ArgumentParser()
    for name, value in (("weights", "start.pt"), ("cfg", ""), ("data", "data.yaml"), ("hyp", "hyp.yaml")):
        parser.add_argument(f"--{name}", default=value)
    parser.add_argument("--resume", action="store_true")
    parser.add_argument("--device", default="cuda")
    opt = parser.parse_args()
    if opt.resume:
        opt.weights = find_latest()
    opt.save_dir = increment_path(Path("runs") / "train")
    with open(opt.hyp) as stream:
        hyp = yaml.safe_load(stream)
    train(hyp, opt, torch.device(opt.device), callbacks, SummaryWriter(opt.save_dir))
