"""What an attribute of an object names where the constructor was given it: `state.optimizer` after `State(optimizer, scaler)`."""

from __future__ import annotations

import libcst as cst

from amplint.syntax.access_paths import called_name
from amplint.syntax.bindings import targets
from amplint.syntax.call_arguments import given_by
from amplint.syntax.classes import Classes, ClassInfo
from amplint.syntax.names import Names, dotted
from amplint.syntax.tree import Tree

_RECORDS = frozenset({"SimpleNamespace", "Namespace", "EasyDict", "edict", "AttrDict", "DotDict", "Munch", "Bunch"})
"""What makes an object with an attribute for each keyword."""
_NAMED_TUPLE = "NamedTuple"


class KeptArguments:
    """Finds what the constructors of objects were given, by the attributes that keep it.

    Args:
        tree: the file.
        names: what its names mean.
        classes: the classes in sight.
    """

    def __init__(self, tree: Tree, names: Names, classes: Classes) -> None:
        self._tree, self._names, self._classes = tree, names, classes

    def behind(self, attribute: str, made: cst.Call) -> cst.BaseExpression | None:
        """What a call that makes an object is given for one of its attributes, if nothing else is ever assigned to that.

        Args:
            attribute: the name of the attribute.
            made: the call.
        """
        info = self._classes.instance_of(made)
        if info is None:
            return _by_keyword(made, attribute) if called_name(made) in _RECORDS else None
        init = info.method("__init__")
        if init is None:
            return self._field(info, attribute, made)
        values = info.values(attribute)
        kept = values[0] if len(values) == 1 else None
        if type(kept) is not cst.Name or self._tree.enclosing(kept, cst.FunctionDef) is not init:
            return None
        bound = self._names.bindings_in(init).get(kept.value, ())
        is_param = len(bound) == 1 and isinstance(bound[0].node, cst.Param)
        return given_by(made, init, kept.value) if is_param else None

    def _field(self, info: ClassInfo, attribute: str, made: cst.Call) -> cst.BaseExpression | None:
        """What is given for a field of a data class or a named tuple that derives from nothing else at hand."""
        decorators = (each.decorator for each in info.node.decorators)
        makes = any(_last(each.func if isinstance(each, cst.Call) else each) == "dataclass" for each in decorators)
        named = any(_last(each.value) == _NAMED_TUPLE for each in info.node.bases)
        if not (makes or named) or info.bases:
            return None
        lines = (line for line in info.node.body.body if isinstance(line, cst.SimpleStatementLine))
        declared = [small for line in lines for small in line.body if isinstance(small, cst.AnnAssign)]
        fields = [target.value for each in declared for target in targets(each) if isinstance(target, cst.Name)]
        if attribute not in fields or any(arg.star for arg in made.args):
            return None
        place = fields.index(attribute)
        given = made.args[place] if place < len(made.args) and made.args[place].keyword is None else None
        return given.value if given is not None else _by_keyword(made, attribute)


def _by_keyword(call: cst.Call, name: str) -> cst.BaseExpression | None:
    return next((arg.value for arg in call.args if arg.keyword is not None and arg.keyword.value == name), None)


def _last(node: cst.BaseExpression) -> str:
    return dotted(node).rpartition(".")[2]
