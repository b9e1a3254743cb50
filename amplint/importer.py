"""How a fix gets at a name that the file may not import yet."""

from __future__ import annotations

import libcst as cst

from amplint.diagnostics import Edit
from amplint.lowering.names import Names
from amplint.lowering.tree import Tree


class Importer:
    """Finds or makes local spellings of qualified names, such as `torch.amp.autocast`."""

    def __init__(self, tree: Tree, names: Names) -> None:
        self._tree = tree
        self._names = names
