"""Calls that save something, by the names that they have."""

from __future__ import annotations

import re
from functools import lru_cache

import libcst as cst

from amplint.model import vocabulary
from amplint.syntax.access_paths import called_name, path_of

REGISTERING = ("add_recoverable", "add_recoverables", "add_checkpointable")
"""The methods by which checkpointers are told what they are to save."""

_SAVER = re.compile(r"(^|\.)_?(torch_)?save(_checkpoint|_state)?$")
"""What functions are called that save what they are given."""


def registers(call: cst.CSTNode) -> bool:
    """Whether a call tells a checkpointer what it is to save."""
    return called_name(call) in REGISTERING


def says_save(call: cst.CSTNode) -> bool:
    """Whether what is called saves something, by its name, or is handed what does: `executor.submit(torch.save, state, path)`."""
    return _is_named_for_saving(called_name(call)) or (isinstance(call, cst.Call) and any(map(_is_saver, call.args)))


def _is_saver(arg: cst.Arg) -> bool:
    """Whether an argument is a function that saves."""
    kind = type(arg.value)
    return (kind is cst.Attribute or kind is cst.Name) and _SAVER.search(path_of(arg.value)) is not None


@lru_cache(maxsize=4096)
def _is_named_for_saving(name: str) -> bool:
    says_other = vocabulary.LOADS.search(name) or vocabulary.FINDS.search(name)
    return vocabulary.SAVES.search(name) is not None and says_other is None


def tells_saver(call: cst.Call) -> bool:
    """Whether a call tells an object for saving, by its name, that a part of the run is over: `checkpointer.on_epoch_end(...)`.

    Args:
        call: the call.
    """
    saver = call.func.value if isinstance(call.func, cst.Attribute) else None
    return (
        saver is not None
        and called_name(call).startswith("on_")
        and vocabulary.SAVER.search(path_of(saver)) is not None
    )


def takes_state(call: cst.Call) -> bool:
    """Whether a call takes the state of something."""
    return isinstance(call.func, cst.Attribute) and call.func.attr.value == "state_dict"


def is_for_saving(call: cst.Call) -> bool:
    """Whether what a call makes is there to save something, by its name or by what it is given something as (`to_save=`).

    Args:
        call: the call.
    """
    names = [called_name(call), *(arg.keyword.value for arg in call.args if arg.keyword is not None)]
    return vocabulary.SAVES.search(names[0]) is not None or "to_save" in names
