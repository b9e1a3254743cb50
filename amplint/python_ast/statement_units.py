"""The units that a file is cut into: its top-level statements, and the methods of its classes, with the words in them."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

from amplint.model import libraries
from amplint.python_ast.gate import AMP_WORDS, CONTEXT_NAME, may_trigger, own_contexts, pattern
from amplint.python_ast.walk import levels
from amplint.source import Source

_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_NAMED_BY: dict[type[ast.AST], str] = {
    ast.Name: "id", ast.Attribute: "attr", ast.FunctionDef: "name", ast.AsyncFunctionDef: "name", ast.ClassDef: "name",
    ast.alias: "name", ast.ImportFrom: "module", ast.arg: "arg", ast.keyword: "arg",
}  # fmt: skip
"""The field of a node that holds an identifier, or several with dots between them."""
_ENTERING = frozenset({ast.withitem, ast.Return})


@dataclass
class StatementUnit:
    """A top-level statement without the methods of a class, or one method. `methods` are units of their own;
    `bases` are the names of what a class derives from.

    `names` are what it defines or, for a statement, what it assigns; `node` is where its words stand; `entered` is what it enters
    by `with`, and what the calls run that it returns; `rebound` are the names of the module that it binds anew.
    """

    names: frozenset[str]
    first: int
    last: int
    words: frozenset[str]
    node: ast.stmt
    entered: list[ast.AST] = field(default_factory=list)
    marked: bool = False
    definition: bool = True
    methods: list[StatementUnit] = field(default_factory=list)
    bases: frozenset[str] = frozenset()
    rebound: frozenset[str] = frozenset()
    kept: bool = False

    @property
    def is_special(self) -> bool:
        """Whether Python or PyTorch calls the method without naming it."""
        return any(name.startswith("__") or name in ("forward", "load_state_dict") for name in self.names)

    @property
    def all_words(self) -> frozenset[str]:
        """The identifiers in it, and in its methods."""
        return self.words.union(*(method.words for method in self.methods))

    @property
    def kept_words(self) -> frozenset[str]:
        """The identifiers in it, and in those of its methods that are kept."""
        return self.words.union(*(method.words for method in self.methods if method.kept))

    def entering(self) -> Iterator[tuple[StatementUnit, frozenset[str]]]:
        """The functions and methods in it that enter something by `with`, or return what a call gives, each with the words
        of that."""
        for part in self.methods or ([self] if isinstance(self.node, _FUNCTIONS) else []):
            if part.entered:
                yield part, frozenset(_identifiers(*part.entered))


def units_of(module: ast.Module) -> list[StatementUnit]:
    """The units of a file.

    Args:
        module: its tree.
    """
    return [_unit(statement) for statement in module.body]


def mark_units(
    units: list[StatementUnit], source: Source, data: bytes, module: ast.Module, triggers: list[str]
) -> bool:
    """Mark the units of a file that hold an identifier of AMP, or of a rule; whether there are any.

    Args:
        units: the units.
        source: the text.
        data: the same as bytes.
        module: its tree.
        triggers: the patterns of the rules.
    """
    told = (f"^{word}$" for word in libraries.told_in(data))
    amp = pattern((*AMP_WORDS, *told, *(trigger for trigger in triggers if not _is_text(trigger))))
    telling = frozenset(filter(amp.search, frozenset().union(*(unit.all_words for unit in units)))).union(
        _aliases(module, amp), _contexts(units, module), own_contexts(data)
    )
    rows = _rows_of(source, tuple(each for each in triggers if _is_text(each) and may_trigger(data, each)))
    parts = [each for whole in units for each in (whole, *whole.methods)]
    for unit in parts:
        unit.marked = not telling.isdisjoint(unit.words) or any(unit.first <= row <= unit.last for row in rows)
    return any(unit.marked for unit in parts)


def _unit(statement: ast.stmt) -> StatementUnit:
    if isinstance(statement, ast.ClassDef):
        methods = [each for each in statement.body if isinstance(each, _FUNCTIONS)]
        rest = [each for each in statement.body if not isinstance(each, _FUNCTIONS)]
        head = (*statement.bases, *statement.keywords, *statement.decorator_list)
        whole = _spanned(statement, [statement.name], *head, *rest)
        whole.bases = frozenset(_identifiers(*statement.bases))
        whole.methods = [_spanned(each, [each.name], each) for each in methods]
        if methods and not rest:
            whole.methods[0].kept = True  # a class body must not become empty
        return whole
    if isinstance(statement, _FUNCTIONS):
        return _spanned(statement, [statement.name], statement)
    names = (node for level in levels(statement) for node in level if isinstance(node, ast.Name))
    assigned = [name.id for name in names if isinstance(name.ctx, ast.Store)]
    return _spanned(statement, assigned, statement, definition=False)


def _spanned(node: ast.stmt, names: Iterable[str], *parts: ast.AST, definition: bool = True) -> StatementUnit:
    """The unit of a statement; `parts` are what its words stand in."""
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
    names = frozenset(names)
    entered: list[ast.AST] = []
    rebound: set[str] = set()
    words = names.union(_identifiers(*parts, entered=entered, rebound=rebound))
    unit = StatementUnit(names, first, node.end_lineno or node.lineno, words, node, entered, definition=definition)
    unit.rebound = frozenset(rebound)
    return unit


def _identifiers(*nodes: ast.AST, entered: list[ast.AST] | None = None, rebound: set[str] | None = None) -> set[str]:
    """The identifiers in some nodes; what they enter, and what the calls run that they return, goes to `entered`, and what they
    declare global to `rebound`."""
    found: set[str] = set()
    for level in levels(*nodes):
        for node in level:
            kind = type(node)
            if kind in _NAMED_BY:
                found.add(getattr(node, _NAMED_BY[kind]))
            elif rebound is not None and isinstance(node, ast.Global):
                rebound.update(node.names)
            elif entered is not None and kind in _ENTERING:
                match node:
                    case ast.withitem():
                        entered.append(node.context_expr)
                    case ast.Return(value=ast.Call(func=func)):
                        entered.append(func)
    # `from . import x` names no module, `**options` no parameter.
    return {word for name in found if name is not None for word in name.split(".")}


def _is_text(trigger: str) -> bool:
    """Whether a trigger is looked for in running text: no identifier holds a parenthesis."""
    return r"\(" in trigger


def _rows_of(source: Source, triggers: tuple[str, ...]) -> list[int]:
    if not triggers:
        return []
    return [source.position(match.start()).row for match in pattern(triggers).finditer(source.text)]


def _contexts(units: list[StatementUnit], module: ast.Module) -> frozenset[str]:
    """The names of contexts that the file imports and enters, and that may be regions."""
    imports = (node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom))
    names = {(each.asname or each.name).partition(".")[0] for node in imports for each in node.names}
    candidates = frozenset(filter(CONTEXT_NAME.search, names))
    if not candidates:
        return candidates
    entered = (words for unit in units for _, words in unit.entering())
    return candidates & frozenset().union(*entered)


def _aliases(module: ast.Module, amp: re.Pattern[str]) -> Iterator[str]:
    """The other names that the file gives to what is called by a word of AMP: `autocast as half`, `half = autocast`, `half =
    partial(autocast, ...)`, `half = autocast(...)`."""
    statements = [statement for statement in module.body if not isinstance(statement, _DEFINITIONS)]
    for node in (node for level in levels(*statements) for node in level):
        if isinstance(node, ast.alias) and node.asname and amp.search(node.name):
            yield node.asname
        elif isinstance(node, ast.Assign) and isinstance(node.value, (ast.Name, ast.Attribute, ast.Call)):
            value = node.value
            named = [value.func, *value.args[:1]] if isinstance(value, ast.Call) else [value]
            if any(map(amp.search, _identifiers(*named))):
                yield from (target.id for target in node.targets if isinstance(target, ast.Name))
