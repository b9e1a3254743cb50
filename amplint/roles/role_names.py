"""What scalers, optimizers and schedulers are called, and what makes them."""

from __future__ import annotations

import re

from amplint.model.torch import names as torch_names

SCALER_CLASSES = torch_names.GRAD_SCALER | {
    "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler",
    "torch.distributed.fsdp.ShardedGradScaler",
}
SCALER_NAME = re.compile(r"(^|_)(grad_?|loss_|amp_|fp16_)?scaler(s|_\w+)?$", re.IGNORECASE)
OPTIMIZER_NAME = re.compile(r"^(?!.*(param|_weights))(.*_)?((optim(izer)?s?|opt)(\d|_|$)|.*optimizer)", re.IGNORECASE)
"""Of optimizers, and not of the parameters that they are given."""
OPTIMIZER_MAKER = re.compile(
    r"^[A-Z]\w*(Optim|Adam|SGD|Lamb)|^(Adam|SGD|Lion|Lamb|RMSprop|Adagrad|Adafactor|Muon|LBFGS|Optim)|"
    r"^_?(build|create|make|get|init|setup|configure|construct|load)\w*optim"
)
"""Classes and functions that return optimizers."""
SCHEDULER_NAME = re.compile(r"(^|_)((lr_?)?sched(uler)?s?|lrs)(\d|_|$)", re.IGNORECASE)
SCHEDULE_CLASS = re.compile(r"LR|Sched|Anneal|Warm|Scaler|Optim")
NOT_RATE = re.compile(
    r"noise|ddpm|ddim|diffusion|beta|momentum|weight_decay|(^|_)wd|temp|ema|(^|_)kl|tau|mask|alpha|margin|sigma|task|plateau|prof",
    re.IGNORECASE,
)
"""Of schedulers: of something else than the learning rate."""
SCHEDULER_MAKERS = (
    "torch.optim.lr_scheduler.", "transformers.get_", "transformers.optimization.get_", "diffusers.optimization.get_",
)  # fmt: skip
NOT_PER_STEP = frozenset({"torch.optim.lr_scheduler.ReduceLROnPlateau"})
"""Schedulers of the learning rate that are not called for each step."""
FRAMEWORK_NAME = re.compile(
    r"^(accelerator|fabric|engine|model_engine|trainer|booster|strategy|xm|ds_engine|loss_scaler)$"
)
"""Objects of libraries that drive the loop, or scale and step, themselves."""
HANDED_OUT = re.compile(
    r"^(prepare(_(model|optimizer|scheduler|data_loader))?|setup(_(module|optimizers|dataloaders))?|initialize|boost)$"
)
"""What libraries call the methods that return what they were given, wrapped."""
