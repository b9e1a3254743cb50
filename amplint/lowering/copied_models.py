"""Models that a function copies to probe them: what is propagated through the copy leaves no gradients in the original."""

from __future__ import annotations

import libcst as cst

from amplint.lowering.function_scope import FunctionScope
from amplint.model import vocabulary
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.nodes import children

_COPIES = frozenset({"copy.deepcopy"})
_HANDS_OUT = frozenset({"parameters", "named_parameters", "state_dict", "modules", "children", "share_memory"})


class CopiedModels:
    """The copies of one function that nothing but the function itself gets hold of."""

    def __init__(self, scope: FunctionScope) -> None:
        self._scope = scope
        self._tree = scope.program.tree
        self._probes: dict[str, bool] = {}

    def compute(self, loss: cst.BaseExpression) -> bool:
        """Whether such a copy computes a loss, and no other model does."""
        behind = self._behind(loss)
        compared = next((each for each in behind if not isinstance(each, cst.Name)), None)
        called = {
            path_of(each.func) for each in behind if type(each) is cst.Call and not self._compares(each, compared)
        }
        probed = {path for path in called if self._is_probe(path)}
        return bool(probed) and not any(map(self._may_learn, called - probed))

    def _compares(self, call: cst.Call, outermost: cst.CSTNode | None) -> bool:
        """Whether a call computes a loss from what a model gives and a target, whatever it is called."""
        return call is outermost and len(call.args) > 1

    def _may_learn(self, path: str) -> bool:
        """Whether what is called may be a model that the gradients are for."""
        last = path.rpartition(".")[2]
        known = path in self._scope.bound or path.startswith("self.")
        return (known or vocabulary.MODEL.search(last) is not None) and vocabulary.LOSS.search(last) is None

    def _behind(self, loss: cst.BaseExpression) -> list[cst.CSTNode]:
        """The nodes of a loss, and of what is assigned to the names in it."""
        found: list[cst.CSTNode] = []
        waiting: list[cst.CSTNode] = [loss]
        seen: set[str] = set()
        while waiting:
            each = waiting.pop()
            found.append(each)
            waiting += children(each)
            if type(each) is cst.Name and each.value not in seen:
                seen.add(each.value)
                values = (binding.value for binding in self._scope.bound.get(each.value, ()))
                waiting += [value for value in values if value is not None]
        return found

    def _is_probe(self, name: str) -> bool:
        if name not in self._probes:
            bindings = self._scope.bound.get(name, ())
            values = [each.value for each in bindings if not isinstance(each.node, cst.Param)]
            always = len(values) == len(bindings) or not any(map(self._is_chosen, values))
            copied = bool(values) and all(map(self._is_copy, values))
            self._probes[name] = copied and always and not self._is_handed_out(name)
        return self._probes[name]

    def _is_copy(self, value: cst.BaseExpression | None) -> bool:
        return isinstance(value, cst.Call) and self._scope.names.all_in(value.func, _COPIES)

    def _is_chosen(self, value: cst.BaseExpression | None) -> bool:
        """Whether a value is assigned on some paths only."""
        around = [] if value is None else list(self._tree.ancestors(value))
        inside = around[: around.index(self._scope.node)] if self._scope.node in around else around
        return any(isinstance(each, (cst.If, cst.For, cst.While, cst.ExceptHandler)) for each in inside)

    def _is_handed_out(self, name: str) -> bool:
        """Whether something else may get hold of a copy, or of its parameters."""
        mentions = [each for each in self._tree.inside(self._scope.node, cst.Name) if each.value == name]
        return any(self._is_given(each) for each in mentions)

    def _is_given(self, mention: cst.Name) -> bool:
        parent = self._tree.parent(mention)
        if isinstance(parent, cst.Attribute):
            return parent.value is mention and parent.attr.value in _HANDS_OUT
        if isinstance(parent, cst.Arg):
            call = self._tree.parent(parent)
            return called_name(call) != "deepcopy"
        return not isinstance(parent, (cst.Call, cst.AssignTarget, cst.AnnAssign, cst.Param))
