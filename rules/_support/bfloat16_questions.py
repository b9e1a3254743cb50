"""Questions about bfloat16 in the hardware, for every PyTorch, as fixes write them."""

from __future__ import annotations

import libcst as cst

from amplint.diagnostics import UNSAFE, Edit, Fix
from amplint.rule import File

from .call_edits import insert_arguments
from .conditions import conditions_of

_AVAILABLE, _CAPABILITY = "torch.cuda.is_available", "get_device_capability() >= (8, 0)"
EMULATION = "including_emulation"
"""The parameter of `is_bf16_supported` that says whether emulation counts."""
_HAS_EMULATION = (2, 4)
"""The release that brought the parameter."""


def sound_question(file: File, call: cst.Call) -> Fix | None:
    """The fix of a question that counts emulation: one that asks for the hardware; None where none fits.

    Args:
        file: the file.
        call: the question.
    """
    if not isinstance(call.func, cst.Attribute) or "#" in file.tree.text(call):
        return None  # the import of a bare name would be left without use
    title = "Ask for hardware that has bfloat16"
    if file.torch >= _HAS_EMULATION:
        edits = (
            [Edit(*file.tree.span(call.args[0]), f"{EMULATION}=False")]
            if call.args
            else insert_arguments(file, call, [f"{EMULATION}=False"], ())
        )
        return Fix(title, tuple(edits), UNSAFE)
    question = hardware_question(file, call)
    if question is None:
        return None
    text, imports = question
    joined = isinstance(file.tree.parent(call), (cst.UnaryOperation, cst.BooleanOperation, cst.Comparison))
    edit = Edit(*file.tree.span(call), f"({text})" if joined and " and " in text else text)
    return Fix(title, file.importer.joined([*imports, edit]), UNSAFE)


def hardware_question(file: File, at: cst.Call) -> tuple[str, tuple[Edit, ...]] | None:
    """An expression that is true where the GPU has bfloat16, for every PyTorch, and the imports that it needs.

    Args:
        file: the file.
        at: the call beside which it is asked.
    """
    available, imports = file.importer.get(_AVAILABLE, at)
    module = available.removesuffix("is_available")
    if not module.endswith("."):
        return None
    guard = "" if _is_guarded(file, at) else f"{available}() and "
    return f"{guard}{module}{_CAPABILITY}", imports


def _is_guarded(file: File, at: cst.Call) -> bool:
    """Whether something runs only where there is a GPU."""
    return any(
        isinstance(each, cst.Call) and file.names.all_in(each.func, {_AVAILABLE}) for each in conditions_of(file, at)
    )
