"""Real optimizers, schedulers and scalers, made as the code makes them: of the classes it names, with its literals.

Nothing of the author's is run: the text of a construction is parsed, its class looked up in a closed list, and of its
arguments only literals are taken. Whatever else an argument is, torch's default stands for it.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.optim import lr_scheduler

from amplint.model.events import ObjectFacts
from amplint.model.literals import number

_OPTIMIZERS = {
    f"torch.optim.{kind.__name__}": kind
    for kind in (
        torch.optim.SGD, torch.optim.Adam, torch.optim.AdamW, torch.optim.RMSprop, torch.optim.Adagrad, torch.optim.Adamax,
        torch.optim.NAdam, torch.optim.RAdam, torch.optim.Adadelta, torch.optim.ASGD, torch.optim.Rprop,
    )
}  # fmt: skip
_SCHEDULERS = {
    f"torch.optim.lr_scheduler.{kind.__name__}": kind
    for kind in (
        lr_scheduler.StepLR, lr_scheduler.MultiStepLR, lr_scheduler.ConstantLR, lr_scheduler.LinearLR,
        lr_scheduler.ExponentialLR, lr_scheduler.PolynomialLR, lr_scheduler.CosineAnnealingLR,
        lr_scheduler.CosineAnnealingWarmRestarts, lr_scheduler.OneCycleLR, lr_scheduler.CyclicLR,
    )
}  # fmt: skip
_SCALER_SETTINGS = ("init_scale", "growth_factor", "backoff_factor", "growth_interval")
INIT_SCALE = 65536.0
STAND_IN_RATE = 1e-3


class CannotMake(Exception):
    """An object of the code cannot be made; the message is one line."""


@dataclass(frozen=True)
class Construction:
    """A call that constructs an object: the full name of what is called, and the arguments that are literals."""

    name: str
    keywords: dict[str, Any] = field(default_factory=dict)
    positional: tuple[Any, ...] = ()
    """The literals after the first argument, up to the first that is none."""

    @classmethod
    def read(cls, maker: str) -> Construction:
        """Read the text of a call (`ObjectFacts.maker`)."""
        try:
            call = ast.parse(maker, mode="eval").body
        except SyntaxError:  # `<local>.Scaler(...)`: a class of the author's
            return cls("")
        if not isinstance(call, ast.Call):
            return cls("")
        keywords = {each.arg: each.value for each in call.keywords if each.arg is not None}
        read = {name: _literal(node) for name, node in keywords.items()}
        positional: list[Any] = []
        for node in call.args[1:]:
            value = _literal(node)
            if value is _UNKNOWN:
                break
            positional.append(value)
        known = {name: value for name, value in read.items() if value is not _UNKNOWN}
        return cls(ast.unparse(call.func), known, tuple(positional))


_UNKNOWN = object()


def _literal(node: ast.expr) -> Any:
    try:
        return ast.literal_eval(node)
    except (ValueError, TypeError):
        value = number(ast.unparse(node))
        return _UNKNOWN if value is None else value


def optimizer(facts: ObjectFacts, parameters: Iterable[torch.Tensor]) -> tuple[torch.optim.Optimizer, bool]:
    """An optimizer, and whether it is of the class that the code names.

    One whose class the code does not show, or that is not torch's, is stood in for by SGD: what replays measure, the
    gradients that an optimizer is handed and whether it steps at all, does not depend on its class.

    Args:
        facts: how the code makes it.
        parameters: what it is to step.

    Raises:
        CannotMake: the class needs what a replay does not have.
    """
    made = Construction.read(facts.maker)
    parameters = list(parameters)
    if made.name == "torch.optim.LBFGS":
        raise CannotMake("LBFGS needs a closure")
    kind = _OPTIMIZERS.get(made.name)
    if kind is None:
        return torch.optim.SGD(parameters, lr=STAND_IN_RATE), False
    keywords = {name: value for name, value in made.keywords.items() if name != "params"}
    try:
        return kind(parameters, *made.positional, **keywords), True
    except (TypeError, ValueError, RuntimeError) as error:
        raise CannotMake(f"{made.name} cannot be made with its literal arguments: {_line(error)}") from error


def assumed_rate(facts: ObjectFacts) -> str:
    """What stands for the class and the learning rate of an optimizer where the code does not give them; empty where it does.

    Args:
        facts: how the code makes it.
    """
    made = Construction.read(facts.maker)
    if made.name not in _OPTIMIZERS:
        return f"SGD with a learning rate of {STAND_IN_RATE:g}"
    return "" if made.positional or "lr" in made.keywords else "torch's default learning rate"


def scheduler(facts: ObjectFacts, of: torch.optim.Optimizer) -> lr_scheduler.LRScheduler:
    """A scheduler of the class that the code names, or else one that leaves the rate as it is.

    How often a scheduler steps does not depend on its class.

    Args:
        facts: how the code makes it.
        of: the optimizer whose rate it sets.
    """
    made = Construction.read(facts.maker)
    kind: Any = _SCHEDULERS.get(made.name)
    if kind is not None:
        keywords = {name: value for name, value in made.keywords.items() if name != "optimizer"}
        with suppress(TypeError, ValueError):  # an argument that it cannot do without is no literal
            return kind(of, *made.positional, **keywords)
    return lr_scheduler.LambdaLR(of, lambda _: 1.0)


def scaler(facts: ObjectFacts, device: str, enabled: bool) -> torch.amp.GradScaler:
    """A GradScaler with the author's settings.

    Args:
        facts: how the code makes it.
        device: the device type, "cuda" or "cpu".
        enabled: whether it scales.

    Raises:
        CannotMake: PyTorch refuses these settings.
    """
    made = Construction.read(facts.maker)
    settings = {name: made.keywords[name] for name in _SCALER_SETTINGS if name in made.keywords}
    settings["init_scale"] = number(facts.init_scale) or INIT_SCALE
    if "growth_interval" in settings:
        settings["growth_interval"] = int(settings["growth_interval"])
    try:
        return torch.amp.GradScaler(device, enabled=enabled, **settings)
    except AssertionError as error:
        raise CannotMake(f"the scaler cannot be made: {_line(error)}") from error


def described(made: torch.optim.Optimizer) -> str:
    """An optimizer with its settings, in words."""
    settings = ", ".join(f"{name}={value}" for name, value in sorted(made.defaults.items()))
    return f"{type(made).__name__}({settings})"


def described_scaler(made: torch.amp.GradScaler, facts: ObjectFacts) -> str:
    """A scaler with its settings, in words.

    Args:
        made: the scaler of a replay.
        facts: how the code makes it, which says for which device.
    """
    if not made.is_enabled():
        return "GradScaler(enabled=False)"
    device = "cpu" if re.search(r"""\(\s*(device\s*=\s*)?["']cpu["']""", facts.maker) else "gpu"
    settings = made.get_scale(), made.get_growth_factor(), made.get_backoff_factor(), made.get_growth_interval()
    return f"GradScaler({device}, {', '.join(f'{name}={value:g}' for name, value in zip(_SCALER_SETTINGS, settings))})"


def _line(error: Exception) -> str:
    return " ".join(str(error).split())
