"""Objects that hold what the user chose, such as parsed arguments: what is called an optimizer among them is only its name."""

from __future__ import annotations

import re

import libcst as cst

from amplint.syntax.access_paths import called, literal_key, path_of
from amplint.syntax.tree import Tree

_OPTIONS = re.compile(
    r"(^|_)(args?|opts?|options?|cfg|conf|config(uration)?|hparams?|hps?|hyp|flags|settings|params)$", re.IGNORECASE
)
_OF_OPTIMIZERS = frozenset(
    "step zero_grad param_groups state_dict load_state_dict add_param_group state defaults optimizer optim".split()
)
_OF_FRAMEWORKS = frozenset(
    "accumulate autocast backward clip_gradients clip_grad_norm_ fit no_sync prepare save_state scale setup step train".split()
)
_MANY_NUMBERS = re.compile(
    r"weights|mask|tensor|anchor|mean|std|matrix|prior|embed|bias|(pos|class)_weight", re.IGNORECASE
)
"""Options that may well be tensors."""


def is_number_option(node: cst.BaseExpression) -> bool:
    """Whether an expression computes with options and literals alone, none of which sounds like a tensor.

    What a tensor is multiplied with or divided by is a number, then: `args.batch_size - 1`.
    """
    if isinstance(node, (cst.Integer, cst.Float)):
        return True
    if type(node) is cst.BinaryOperation:
        return is_number_option(node.left) and is_number_option(node.right)
    if type(node) is cst.UnaryOperation:
        return is_number_option(node.expression)
    if isinstance(node, cst.Attribute):
        holder, last = path_of(node.value), node.attr.value
    elif isinstance(node, cst.Subscript):
        holder, last = path_of(node.value), literal_key(node)
    else:
        return False
    if not last or last in _OF_OPTIMIZERS or _MANY_NUMBERS.search(last):
        return False
    return is_option(f"{holder}.{last}")


def is_option(path: str) -> bool:
    """Whether an access path leads through what holds options: `args.clip`, `self.cfg.trainer.clip`."""
    return any(_OPTIONS.search(part) and part != "params" for part in re.split(r"[.\[\]]", path)[:-1])


class UserOptions:
    """Which names of a file are options, by what it asks of them."""

    def __init__(self, tree: Tree) -> None:
        self._tree = tree
        self._parts: dict[cst.Module, dict[str, set[str]]] = {}
        self._tables: dict[cst.Module, set[str]] = {}

    def holds(self, node: cst.BaseExpression, path: str) -> bool:
        """Whether what is called an optimizer are options, or one of them: nothing that optimizers have is asked of it.

        Args:
            node: the expression.
            path: its access path, such as `args.optimizer`.
        """
        parts = self._parts_of(node).get(path, set())
        if parts & _OF_OPTIMIZERS:
            return False
        holder = called(path.rpartition(".")[0])
        asked = bool(parts) or path in self._looked_up(node)
        return _OPTIONS.search(holder) is not None or asked and _OPTIONS.search(called(path)) is not None

    def is_chosen(self, node: cst.BaseExpression, path: str) -> bool:
        """Whether an element of what may be options is one of them: nothing that optimizers have is asked of it.

        Args:
            node: the expression.
            path: its access path, such as `self.opt[networks]`.
        """
        is_element = isinstance(node, cst.Subscript) and bool(literal_key(node))
        return is_element and is_option(path) and not self._parts_of(node).get(path, set()) & _OF_OPTIMIZERS

    def is_section(self, node: cst.BaseExpression, path: str) -> bool:
        """Whether what is called like an object of a library is one of the options: nothing that such objects do is asked of it.

        Args:
            node: the expression.
            path: its access path, such as `config[trainer]`.
        """
        return is_option(path) and not self._parts_of(node).get(path, set()) & _OF_FRAMEWORKS

    def is_stepped(self, node: cst.BaseExpression, path: str) -> bool:
        """Whether something is asked to step, as optimizers and schedulers are, and options never.

        Args:
            node: the expression.
            path: its access path, such as `optimizers[generator]`.
        """
        return "step" in self._parts_of(node).get(path, set())

    def _parts_of(self, node: cst.CSTNode) -> dict[str, set[str]]:
        """The attributes that the file of a node names, by the path of what has them."""
        root = self._tree.root(node)
        if root not in self._parts:
            found: dict[str, set[str]] = {}
            for each in self._tree.find(cst.Attribute, around=root):
                found.setdefault(path_of(each.value), set()).add(each.attr.value)
            self._parts[root] = found
        return self._parts[root]

    def _looked_up(self, node: cst.CSTNode) -> set[str]:
        """The paths of what the file of a node looks up by literal keys, which optimizers have none of."""
        root = self._tree.root(node)
        if root not in self._tables:
            elements = self._tree.find(cst.Subscript, around=root)
            self._tables[root] = {path_of(each.value) for each in elements if literal_key(each)}
        return self._tables[root]
