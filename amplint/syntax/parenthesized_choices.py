"""What LibCST has to be told of conditional expressions in parentheses."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import libcst as cst

_BESIDE_KEYWORD = "_safe_to_use_with_word_operator"


@contextmanager
def may_touch_keywords() -> Iterator[None]:
    """Has LibCST take `return(a if b else c)`: it forgets that parentheses keep the expression from the keyword beside it."""
    own = getattr(cst.IfExp, _BESIDE_KEYWORD)

    def may_touch(node: cst.IfExp, position: Any) -> bool:
        return bool(node.lpar) or own(node, position)

    setattr(cst.IfExp, _BESIDE_KEYWORD, may_touch)
    try:
        yield
    finally:
        setattr(cst.IfExp, _BESIDE_KEYWORD, own)
