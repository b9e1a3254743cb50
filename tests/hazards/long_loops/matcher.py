"""Trains a matcher of local features: any model and any data set, on one GPU or on many, with a handler for every mishap."""

import argparse
import copy
import re
import signal
from collections import defaultdict
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
from omegaconf import OmegaConf
from torch.nn.parallel import DistributedDataParallel
from torch.utils.tensorboard import SummaryWriter
from tqdm import tqdm

from matching import logger
from matching.data import get_dataset
from matching.evaluation import run_benchmark
from matching.experiments import delete_old_checkpoints, get_best_checkpoint, get_last_checkpoint, save_experiment
from matching.metrics import AverageMetric, MedianMetric, PRMetric, RecallMetric
from matching.models import get_model
from matching.tensors import batch_to_device
from matching.tools import fork_rng, set_seed, summarize

DEFAULTS = {
    "seed": 0,
    "epochs": 1,
    "optimizer": "adam",
    "opt_regexp": None,
    "optimizer_options": {},
    "lr": 0.001,
    "lr_schedule": {"type": None, "start": 0, "exp_div_10": 0, "on_epoch": False, "factor": 1.0, "options": {}},
    "lr_scaling": [(100, ["dampingnet.const"])],
    "eval_every_iter": 1000,
    "save_every_iter": 5000,
    "log_every_iter": 200,
    "keep_last_checkpoints": 10,
    "load_experiment": None,
    "median_metrics": [],
    "recall_metrics": {},
    "pr_metrics": {},
    "best_key": "loss/total",
    "dataset_callback_fn": None,
    "dataset_callback_on_val": False,
    "clip_grad": None,
    "test_every_epoch": 1,
    "plot": None,
}


@torch.no_grad()
def do_evaluation(model, loader, device, loss_fn, conf, mixed=False, pbar=True):
    model.eval()
    results, pr_metrics, figures = {}, defaultdict(PRMetric), []
    plot_ids = np.random.choice(len(loader), min(len(loader), 2), replace=False) if conf.plot is not None else []
    for number, data in enumerate(tqdm(loader, desc="Evaluation", ascii=True, disable=not pbar)):
        data = batch_to_device(data, device, non_blocking=True)
        with torch.no_grad(), torch.amp.autocast("cuda", dtype=torch.float16, enabled=mixed):
            pred = model(data)
            losses, metrics = loss_fn(pred, data)
            if conf.plot is not None and number in plot_ids:
                figures.append(model.plot(pred, data))
            for key, (name, length) in conf.pr_metrics.items():
                pr_metrics[key].update(pred[name], data[length])
        numbers = {**metrics, **{f"loss/{key}": value for key, value in losses.items()}}
        for key, value in numbers.items():
            if key not in results:
                results[key] = AverageMetric()
                if key in conf.median_metrics:
                    results[f"{key}_median"] = MedianMetric()
                for threshold in conf.recall_metrics.get(key, ()):
                    results[f"{key}_recall@{int(threshold)}"] = RecallMetric(threshold)
            results[key].update(value)
    results = {key: metric.compute() for key, metric in results.items()}
    return results, {key: metric.compute() for key, metric in pr_metrics.items()}, figures


def filter_parameters(params, regexp):
    def matches(item):
        name, parameter = item
        wanted = re.search(regexp, name) is not None
        if not wanted:
            parameter.requires_grad = False
        return wanted

    kept = list(filter(matches, params))
    assert len(kept) > 0, regexp
    return kept


def get_lr_scheduler(optimizer, conf):
    if conf.type not in ("factor", "exp", None):
        return getattr(torch.optim.lr_scheduler, conf.type)(optimizer, **conf.options)

    def factor_of(step):
        if conf.type is None:
            return 1
        if conf.type == "factor":
            return 1.0 if step < conf.start else conf.factor
        return 10 ** (-max(0, step - conf.start) / conf.exp_div_10)

    return torch.optim.lr_scheduler.MultiplicativeLR(optimizer, factor_of)


def pack_lr_parameters(params, base_lr, lr_scaling):
    scales = [scale for scale, _ in lr_scaling] + [1]
    groups = {scale: [] for scale in scales}
    for name, parameter in params:
        scale = next((scale for scale, words in lr_scaling if any(word in name for word in words)), 1)
        groups[scale].append((name, parameter))
    return [
        {"lr": scale * base_lr, "params": [parameter for _, parameter in group]}
        for scale, group in groups.items()
        if group
    ]


def training(rank, conf, output_dir, args):
    if args.restore:
        logger.info("Restoring from the previous training of %s", args.experiment)
        try:
            init_cp = get_last_checkpoint(args.experiment, allow_interrupted=False)
        except AssertionError:
            init_cp = get_best_checkpoint(args.experiment)
        init_cp = torch.load(str(init_cp), map_location="cpu")
        conf = OmegaConf.merge(OmegaConf.create(init_cp["conf"]), conf)
        epoch = init_cp["epoch"] + 1
        best_eval = init_cp["eval"][conf.train.best_key]
        if best_eval is None:
            best_eval = float("inf")
    else:
        conf.train = OmegaConf.merge(OmegaConf.create(DEFAULTS), conf.train)
        epoch, best_eval = 0, float("inf")
        init_cp = None
        if conf.train.load_experiment:
            logger.info("Weights of %s", conf.train.load_experiment)
            init_cp = torch.load(str(get_best_checkpoint(conf.train.load_experiment)), map_location="cpu")
    OmegaConf.set_struct(conf, True)
    set_seed(conf.train.seed)
    if rank == 0:
        writer = SummaryWriter(log_dir=str(output_dir))

    data_conf = copy.deepcopy(conf.data)
    if args.distributed:
        logger.info("Training in distributed mode with %s GPUs", args.n_gpus)
        assert torch.cuda.is_available()
        device = rank
        dist.init_process_group("nccl", world_size=args.n_gpus, rank=device, init_method=f"file://{args.lock_file}")
        torch.cuda.set_device(device)
        if "batch_size" in data_conf:
            data_conf.batch_size = int(data_conf.batch_size / args.n_gpus)
        if "num_workers" in data_conf:
            data_conf.num_workers = int((data_conf.num_workers + args.n_gpus - 1) / args.n_gpus)
    else:
        device = "cuda" if torch.cuda.is_available() else "cpu"
    dataset = get_dataset(data_conf.name)(data_conf)
    if args.overfit:
        data_conf.val_size, data_conf.train_size = 5, 50
    train_loader = dataset.get_data_loader("train", distributed=args.distributed)
    val_loader = dataset.get_overfit_loader("val") if args.overfit else dataset.get_data_loader("val")

    stop = False

    def sigint_handler(signum, frame):
        logger.info("Caught keyboard interrupt signal, will terminate")
        nonlocal stop
        if stop:
            raise KeyboardInterrupt
        stop = True

    signal.signal(signal.SIGINT, sigint_handler)
    model = get_model(conf.model.name)(conf.model).to(device)
    if args.compile:
        model = torch.compile(model, mode=args.compile)
    loss_fn = model.loss
    if init_cp is not None:
        model.load_state_dict(init_cp["model"], strict=False)
    if args.distributed:
        model = torch.nn.SyncBatchNorm.convert_sync_batchnorm(model)
        model = DistributedDataParallel(model, device_ids=[device])
    torch.backends.cudnn.benchmark = True
    if args.detect_anomaly:
        torch.autograd.set_detect_anomaly(True)

    optimizer_fn = {"sgd": torch.optim.SGD, "adam": torch.optim.Adam, "adamw": torch.optim.AdamW}[conf.train.optimizer]
    params = [(name, parameter) for name, parameter in model.named_parameters() if parameter.requires_grad]
    if conf.train.opt_regexp:
        params = filter_parameters(params, conf.train.opt_regexp)
    all_params = [parameter for _, parameter in params]
    lr_params = pack_lr_parameters(params, conf.train.lr, conf.train.lr_scaling)
    optimizer = optimizer_fn(lr_params, lr=conf.train.lr, **conf.train.optimizer_options)
    scaler = torch.amp.GradScaler("cuda", enabled=args.mixed_precision is not None)
    lr_scheduler = get_lr_scheduler(optimizer, conf.train.lr_schedule)
    if args.restore:
        optimizer.load_state_dict(init_cp["optimizer"])
        if "lr_scheduler" in init_cp:
            lr_scheduler.load_state_dict(init_cp["lr_scheduler"])
        if "scaler" in init_cp:
            scaler.load_state_dict(init_cp["scaler"])

    losses_ = None
    while epoch < conf.train.epochs and not stop:
        if rank == 0:
            logger.info("Starting epoch %s", epoch)
        set_seed(conf.train.seed + epoch)
        if conf.train.lr_schedule.on_epoch and epoch > 0:
            old_lr = optimizer.param_groups[0]["lr"]
            lr_scheduler.step()
            logger.info("lr changed from %s to %s", old_lr, optimizer.param_groups[0]["lr"])
        if args.distributed:
            train_loader.sampler.set_epoch(epoch)
        if epoch > 0 and conf.train.dataset_callback_fn and not args.overfit:
            loaders = [train_loader, val_loader] if conf.train.dataset_callback_on_val else [train_loader]
            for loader in loaders:
                getattr(loader.dataset, conf.train.dataset_callback_fn)(conf.train.seed + epoch)

        for it, data in enumerate(train_loader):
            tot_it = (len(train_loader) * epoch + it) * (args.n_gpus if args.distributed else 1)
            tot_n_samples = tot_it * train_loader.batch_size
            model.train()
            optimizer.zero_grad()
            with torch.amp.autocast("cuda", dtype=torch.float16, enabled=args.mixed_precision is not None):
                data = batch_to_device(data, device, non_blocking=True)
                pred = model(data)
                losses, _ = loss_fn(pred, data)
                loss = torch.mean(losses["total"])
            if torch.isnan(loss).any():
                logger.warning("Detected NaN, skipping iteration %s", it)
                del pred, data, loss, losses
                continue

            do_backward = loss.requires_grad
            if args.distributed:
                do_backward = torch.tensor(do_backward).float().to(device)
                dist.all_reduce(do_backward, dist.ReduceOp.PRODUCT)
                do_backward = do_backward > 0
            if do_backward:
                scaler.scale(loss).backward()
                if args.detect_anomaly:
                    for name, parameter in params:
                        if parameter.grad is None:
                            logger.warning("%s has no gradient", name)
                if conf.train.clip_grad is not None:
                    scaler.unscale_(optimizer)
                    torch.nn.utils.clip_grad_norm_(all_params, max_norm=conf.train.clip_grad)
                scale_before = scaler.get_scale()
                scaler.step(optimizer)
                scaler.update()
                if not conf.train.lr_schedule.on_epoch and scaler.get_scale() >= scale_before:
                    lr_scheduler.step()
            else:
                if rank == 0:
                    logger.warning("Skip iteration %s due to detach.", it)

            if it % conf.train.log_every_iter == 0:
                losses_ = {key: torch.mean(value, -1).item() for key, value in losses.items()}
                if args.distributed:
                    for key in sorted(losses_):
                        value = torch.tensor(losses_[key], device=device)
                        dist.reduce(value, dst=0)
                        losses_[key] = value.item() / args.n_gpus
                if rank == 0:
                    text = ", ".join(f"{key} {value:.3E}" for key, value in losses_.items())
                    logger.info("[E %s | it %s] loss {%s}", epoch, it, text)
                    for key, value in losses_.items():
                        writer.add_scalar(f"training/{key}", value, tot_n_samples)
                    writer.add_scalar("training/lr", optimizer.param_groups[0]["lr"], tot_n_samples)
                    writer.add_scalar("training/epoch", epoch, tot_n_samples)
            if args.log_grad_norm and it % conf.train.log_every_iter == 0 and rank == 0:
                writer.add_scalar("training/samples", tot_n_samples, tot_it)
            del pred, data, loss, losses

            if (it % conf.train.eval_every_iter == 0) or stop or it == (len(train_loader) - 1):
                with fork_rng(seed=conf.train.seed):
                    results, pr_metrics, figures = do_evaluation(
                        model, val_loader, device, loss_fn, conf.train, args.mixed_precision is not None, pbar=(rank == 0)
                    )
                if rank == 0:
                    logger.info("[Validation] {%s}", summarize(results))
                    for key, value in results.items():
                        writer.add_scalar(f"val/{key}", value, tot_n_samples)
                    for number, figure in enumerate(figures):
                        writer.add_figure(f"figures/{number}", figure, tot_n_samples)
                    if results[conf.train.best_key] < best_eval:
                        best_eval = results[conf.train.best_key]
                        save_experiment(
                            model,
                            optimizer,
                            lr_scheduler,
                            scaler,
                            conf,
                            results,
                            best_eval,
                            epoch,
                            tot_it,
                            output_dir,
                            name="checkpoint_best.tar",
                        )
                torch.cuda.empty_cache()
            if (tot_it % conf.train.save_every_iter == 0 and tot_it > 0) and rank == 0:
                save_experiment(
                    model, optimizer, lr_scheduler, scaler, conf, results, best_eval, epoch, tot_it, output_dir, stop
                )
            if stop:
                break

        if rank == 0:
            if conf.train.test_every_epoch and epoch % conf.train.test_every_epoch == 0:
                for name, benchmark in conf.get("benchmarks", {}).items():
                    summary = run_benchmark(name, benchmark, output_dir / "test" / name, model.eval())
                    for key, value in summary.items():
                        writer.add_scalar(f"test/{name}/{key}", value, epoch)
            delete_old_checkpoints(output_dir, conf.train.keep_last_checkpoints)
        epoch += 1
    logger.info("Finished training on process %s.", rank)
    if rank == 0:
        writer.close()


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("experiment", type=str)
    parser.add_argument("--conf", type=str)
    parser.add_argument("--mixed_precision", "--mp", default=None, type=str, choices=["float16"])
    parser.add_argument("--compile", default=None, type=str)
    for flag in ("overfit", "restore", "distributed", "detect_anomaly", "log_grad_norm"):
        parser.add_argument(f"--{flag}", action="store_true")
    options = parser.parse_intermixed_args()
    folder = Path("outputs") / options.experiment
    folder.mkdir(exist_ok=True, parents=True)
    configuration = OmegaConf.load(options.conf)
    if options.distributed:
        options.n_gpus = torch.cuda.device_count()
        options.lock_file = folder / "distributed_lock"
        torch.multiprocessing.spawn(training, nprocs=options.n_gpus, args=(configuration, folder, options))
    else:
        training(0, configuration, folder, options)
