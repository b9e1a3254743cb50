"""Whether code means the same outside an autocast region: it does where nothing that autocast would cast can run in it.

What is not known to be harmless counts as computing, so that a fix never takes a forward pass out of its region.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

import libcst as cst

from amplint.model import vocabulary
from amplint.rule import File

_PACKAGES = frozenset(
    "math time os sys logging random gc json re pathlib datetime collections itertools warnings copy shutil numpy wandb tqdm "
    "asyncio".split()
)
"""Packages that know nothing of autocast."""

_TORCH = (
    "torch.cuda.", "torch.distributed.", "torch.nn.utils.clip_grad", "torch.autograd.backward", "torch.profiler.",
    "torch.backends.", "torch.optim.", "torch.amp.GradScaler", "torch.utils.",
)  # fmt: skip
"""Parts of torch in which nothing is computed in a precision that autocast chooses."""

_TORCH_FUNCTIONS = frozenset(
    f"torch.{name}"
    for name in "isfinite isnan isinf is_tensor tensor as_tensor zeros ones full arange empty argmax max min save no_grad "
    "enable_grad set_grad_enabled stack cat zeros_like ones_like device manual_seed topk sort where equal eq".split()
)
_COMPUTING_BUILTINS = frozenset(f"builtins.{name}" for name in "pow exec eval map super __import__ getattr".split())

_METHODS = frozenset(
    # the protocol
    "backward step update unscale_ zero_grad scale get_scale is_enabled state_dict load_state_dict step_update no_sync "
    # tensors: reading, moving, reshaping, comparing
    "item detach cpu cuda numpy tolist size dim numel nelement view reshape flatten squeeze unsqueeze expand expand_as t "
    "transpose permute contiguous to clone float double int long bool eq ne gt lt ge le argmax argmin topk max min all any "
    "isfinite isnan isinf new_tensor masked_select data_ptr retain_grad requires_grad_ fill_ zero_ "
    # containers and text
    "append extend insert pop clear get items keys values setdefault add remove join strip split format copy index count "
    # models: settings
    "train eval parameters named_parameters modules named_modules buffers "
    # the rest of a loop
    "set_postfix set_postfix_str set_description refresh info debug warning error exception critical write flush start stop "
    "elapsed_time synchronize sleep get_last_lr close acquire release is_main_process put set".split()
)
_REDUCTIONS = frozenset({"sum", "mean", "float"})

_WORDS = frozenset(
    "log logs print save checkpoint ckpt report record track meter accuracy acc1 reduce reduced barrier synchronize lr "
    "progress display dump scalar scalars histogram update average memory timer adjust empty".split()
)
_OTHER_WORDS = frozenset(
    "prob probs softmax sigmoid loss likelihood det sum sample samples generate predict predictions eval evaluate validate "
    "validation test forward image images figure norm cosh exp".split()
)
_SAVERS = frozenset({"save", "checkpoint", "ckpt", "update", "adjust"})
_SPLIT = re.compile(r"[A-Z]?[a-z0-9]+|[A-Z]+")
_DEFINITIONS = (cst.FunctionDef, cst.Lambda, cst.ClassDef)
_MAX_DEPTH = 5


def may_compute(file: File, nodes: Iterable[cst.CSTNode], depth: int = 0) -> bool:
    """Whether something in these nodes may run an operation that autocast would cast, or may hand the region on."""
    return any(_may_compute(file, node, depth) for node in nodes)


def _may_compute(file: File, node: cst.CSTNode, depth: int) -> bool:
    if isinstance(node, _DEFINITIONS):
        return False  # what it does is judged where it is called
    if isinstance(node, (cst.Yield, cst.MatrixMultiply, cst.MatrixMultiplyAssign, cst.PowerAssign)):
        return True
    if isinstance(node, cst.BinaryOperation) and isinstance(node.operator, cst.Power) and not _is_number(node.left):
        return True
    if isinstance(node, cst.Call) and _call_computes(file, node, depth):
        return True
    return any(_may_compute(file, child, depth) for child in node.children)


def _is_number(node: cst.BaseExpression) -> bool:
    if isinstance(node, cst.Call):
        return isinstance(node.func, cst.Attribute) and node.func.attr.value == "item"
    if isinstance(node, cst.BinaryOperation):
        return _is_number(node.left) and _is_number(node.right)
    return isinstance(node, (cst.Integer, cst.Float))


def _call_computes(file: File, call: cst.Call, depth: int) -> bool:
    callee = file.callees.of(call)
    if callee is not None:
        return depth >= _MAX_DEPTH or may_compute(file, [callee.node.body], depth + 1)
    meanings = file.names.resolve(call.func)
    if all(_is_harmless_name(name) for name in meanings):
        return False
    if any(name.startswith("torch.") for name in meanings) and not file.names.any_in(call.func, {"?"}):
        return True
    if not isinstance(call.func, cst.Attribute):
        return not isinstance(call.func, cst.Name) or not _is_harmless_word(file, call, call.func.value)
    name = call.func.attr.value
    if name in _REDUCTIONS and _is_exact(call.func.value):
        return False
    return name not in _METHODS and not _is_harmless_word(file, call, name)


def _is_harmless_name(name: str) -> bool:
    package = name.partition(".")[0]
    if package == "builtins":
        return name not in _COMPUTING_BUILTINS
    return package in _PACKAGES or name in _TORCH_FUNCTIONS or name.startswith(_TORCH)


def _is_exact(node: cst.BaseExpression) -> bool:
    """Whether a value holds integers, truths or full precision, which autocast leaves alone."""
    if isinstance(node, cst.Comparison):
        return True
    if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute):
        name = node.func.attr.value
        return name in ("eq", "ne", "float", "double", "int", "long", "bool") or (
            name == "sum" and _is_exact(node.func.value)
        )
    return False


def _is_harmless_word(file: File, call: cst.Call, name: str) -> bool:
    """Whether a function that is known by name only is one that logs, saves or measures; with a model it may do more."""
    words = {word.lower() for word in _SPLIT.findall(name)}
    if words & _OTHER_WORDS or not words & _WORDS:
        return False
    return bool(words & _SAVERS) or not any(map(_may_hold_model, map(file.tree.text, (arg.value for arg in call.args))))


def _may_hold_model(text: str) -> bool:
    return "criterion" in text or vocabulary.HAS_MODEL.search(text) is not None
