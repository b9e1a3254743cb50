"""Contexts of which nobody can tell, from one file, whether they are autocast regions."""

from __future__ import annotations

import re

import libcst as cst

from amplint.file import File
from amplint.syntax.access_paths import path_of
from amplint.syntax.names import UNKNOWN

_HARMLESS = re.compile(r"sync|tim(e|ing)|profil|record|progress|average|ema($|_)|lock|log", re.IGNORECASE)
"""What a context is called that measures, shows or exchanges weights: no region."""
_MAX_VALUES = 3


class ObscureContexts:
    """Those of one file."""

    def __init__(self, file: File) -> None:
        self._file, self._tree = file, file.tree

    def around(self, call: cst.Call) -> bool:
        """Whether a `with` around a call in its function enters what nobody can tell from here."""
        for above in self._tree.ancestors(call):
            if type(above) is cst.FunctionDef:
                return False
            if type(above) is cst.With and any(self._is_obscure(item.item, _MAX_VALUES) for item in above.items):
                return True
        return False

    def _is_obscure(self, context: cst.BaseExpression, depth: int) -> bool:
        if self._file.contexts.of(context) is not None:
            return False
        func = context.func if isinstance(context, cst.Call) else context
        behind = self._file.contexts.behind(func)
        if behind:
            return depth == 0 or any(self._is_obscure(each, depth - 1) for each in behind)
        meanings = self._file.names.resolve(func)
        if UNKNOWN not in meanings:
            imports = self._file.imports
            own = [name for name in meanings if imports.is_own(name) and not imports.is_passed_over(name)]
            return bool(own) and imports.defined(func) is None
        owner = self._file.classes.owner(func)
        method = owner.method(func.attr.value) if owner is not None and isinstance(func, cst.Attribute) else None
        return method is None and _HARMLESS.search(path_of(func)) is None
