"""Branches that train without the scaler which another branch has."""

from __future__ import annotations

import re
from collections.abc import Iterator

import libcst as cst

from amplint.model import vocabulary
from amplint.model.events import Scale
from amplint.model.torch.names import AUTOCAST
from amplint.rule import File, Found

_TELLS_APART = re.compile(
    rf"{vocabulary.HARDWARE.pattern}|scaler|enabled|dtype|bf16|bfloat|xpu|mps|tpu|^(True|False)$", re.IGNORECASE
)
"""What is asked where a branch may be that of other hardware, or of another precision, or one that nothing reaches."""


def may_be_float32(file: File, found: Found, step: cst.CSTNode | None) -> bool:
    """Whether a test that decides for or against the scaler asks for the hardware, for the scaler itself, or for a constant, or
    a region of the file is switched by something, which may be the same.

    Args:
        file: the file.
        found: the backward pass without a scaler.
        step: the step that takes its gradients.
    """
    places = [found.node, *([step] if step is not None else []), *found.at_home(Scale)]
    tests = {id(test): test for place in places for test in _tests_around(file, place)}
    switched = any(
        (switch := file.contexts.switch(region)) is not None and file.tree.text(switch) != "True"
        for region in file.tree.find(cst.Call)
        if file.names.all_in(region.func, AUTOCAST)
    )
    return switched or any(_TELLS_APART.search(text) for test in tests.values() for text in _texts(file, test))


def _tests_around(file: File, place: cst.CSTNode) -> Iterator[cst.BaseExpression]:
    for above in file.tree.ancestors(place):
        if isinstance(above, (cst.If, cst.IfExp)) and file.tree.text(above.test) not in ("True", "False"):
            yield above.test


def _texts(file: File, test: cst.BaseExpression) -> Iterator[str]:
    """A test as it is written, and what its names are assigned."""
    yield file.tree.text(test)
    for named in (test, *file.tree.inside(test, cst.Name), *file.tree.inside(test, cst.Attribute)):
        if isinstance(named, (cst.Name, cst.Attribute)):
            yield from map(file.tree.text, file.flow.values(named))
