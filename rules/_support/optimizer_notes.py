"""What is known about the optimizer that a finding is about, for notes that say what the defect does to it."""

from __future__ import annotations

import libcst as cst

from amplint.model.events import ObjectFacts
from amplint.model.literals import number
from amplint.rule import File, Found

DEFAULT_SCALE = "65536"

_ADAPTIVE = frozenset({"Adam", "AdamW", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad", "Adadelta"})
_COUPLED_DECAY = frozenset({"Adam", "NAdam", "RAdam", "Adamax", "RMSprop", "Adagrad", "Adadelta"})


def constructor(file: File, optimizer: cst.BaseExpression) -> cst.Call | None:
    """The one call of a `torch.optim` class that makes an optimizer; None where it is out of sight or one of several."""
    values = list(file.roles.values(optimizer))
    if len(values) != 1 or not isinstance(values[0], cst.Call):
        return None
    meanings = file.names.resolve(values[0].func)
    return values[0] if all(name.startswith("torch.optim.") for name in meanings) else None


def class_name(file: File, made: cst.Call | None) -> str:
    """The class of an optimizer without its module; empty when it is not known."""
    meanings = file.names.resolve(made.func) if made is not None else frozenset()
    return next(iter(meanings)).rpartition(".")[2] if len(meanings) == 1 else ""


def is_adaptive(name: str) -> bool:
    """Whether the class divides each gradient by its own size, so that a constant factor cancels up to eps."""
    return name in _ADAPTIVE


def decays_through_gradient(file: File, made: cst.Call | None) -> bool:
    """Whether an adaptive optimizer adds its weight decay to the gradient, as all but AdamW do."""
    if made is None or class_name(file, made) not in _COUPLED_DECAY:
        return False
    given = {arg.keyword.value: arg.value for arg in made.args if arg.keyword is not None}
    decoupled = given.get("decoupled_weight_decay")
    if "weight_decay" not in given or (decoupled is not None and file.tree.text(decoupled) != "False"):
        return False
    return number(file.tree.text(given["weight_decay"])) != 0


def is_fused(file: File, made: cst.Call) -> bool:
    """Whether an optimizer is asked to step in one kernel, which leaves the scaler's work to that kernel."""
    given = {arg.keyword.value: arg.value for arg in made.args if arg.keyword is not None}
    return "fused" in given and file.tree.text(given["fused"]) == "True"


def initial_scale(found: Found) -> str:
    """The scale that the hazard's scaler begins with, in words."""
    return scale_in_words(found.scaler)


def scale_in_words(scaler: ObjectFacts) -> str:
    """The scale that a scaler begins with: a number without a needless fraction, or the code that gives it."""
    text = scaler.init_scale
    if not text:
        return DEFAULT_SCALE
    value = number(text)
    if value is None:
        return f"`{text}`" if "\n" not in text else "its initial value"
    return str(int(value)) if value == int(value) else f"{value:g}"
