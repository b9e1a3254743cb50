"""Which rows of a file matter: those of the statements that have to do with AMP, and of what they lean on.

The unit is the top-level statement, and in a class the method. Stdlib `ast` settles it, several times cheaper than a parse by
LibCST of what turns out not to matter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

from amplint.model import libraries
from amplint.python_ast.gate import AMP_WORDS, CONTEXT_NAME, may_trigger, own_contexts, pattern
from amplint.python_ast.walk import levels
from amplint.source import Source

_PROTOCOL_WORDS = (
    r"^backward$", r"^step$", r"^zero_grad$", r"^clip_grad", r"^get_total_norm$", r"^clip_grads_with_norm_$", r"^grad$",
    r"^b?float16$", r"^half$", r"optim", r"sched", r"^nullcontext$", r"^ExitStack$", r"^parameters$",
)  # fmt: skip
"""Identifiers that say more about AMP code that stands elsewhere in the file."""


_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef)
_DEFINITIONS = (*_FUNCTIONS, ast.ClassDef)
_NAMED_BY: dict[type[ast.AST], str] = {
    ast.Name: "id", ast.Attribute: "attr", ast.FunctionDef: "name", ast.AsyncFunctionDef: "name", ast.ClassDef: "name",
    ast.alias: "name", ast.ImportFrom: "module", ast.arg: "arg", ast.keyword: "arg",
}  # fmt: skip
"""The field of a node that holds an identifier, or several with dots between them."""
_ENTERING = frozenset({ast.withitem, ast.Return})
_SCALER = re.compile("[Ss]caler")
_LOSS = re.compile("loss|criterion", re.IGNORECASE)
_HALF = re.compile("^b?float16$|^half$")
_DECLARES = "add_argument"
"""How a program declares an option: nothing is asked of the declaration."""
_CONTINUED = re.compile(r";[ \t\f]*\\\r?$", re.MULTILINE)
"""A statement goes on behind another one, in the next row: that row must not go without the first."""
_SHORT = 40
"""Statements outside of definitions bind names; a longer one than this many rows is a table or a text."""


@dataclass
class _Unit:
    """A top-level statement without the methods of a class, or one method. `methods` are units of their own;
    `bases` are the names of what a class derives from.

    `names` are what it defines or, for a statement, what it assigns; `node` is where its words stand; `entered` is what it enters
    by `with`, and what the calls run that it returns.
    """

    names: frozenset[str]
    first: int
    last: int
    words: frozenset[str]
    node: ast.stmt
    entered: list[ast.AST] = field(default_factory=list)
    marked: bool = False
    definition: bool = True
    methods: list[_Unit] = field(default_factory=list)
    bases: frozenset[str] = frozenset()
    kept: bool = False


def relevant_rows(
    source: Source, module: ast.Module, triggers: Iterable[str] = (), entered: frozenset[str] = frozenset()
) -> list[int] | None:
    """The rows of the statements that matter, ascending; empty when none does, None when all do.

    A statement matters when it holds an identifier of AMP, or of a rule; then so do imports and short statements that bind
    names. In a file that trains, or computes in half, so do the definitions that call one which matters, through others, too,
    those that a kept statement names, and the statements of the protocol that name a kept one; elsewhere nothing but the
    single call can be wrong, or what a function enters or hands on that a kept one gives. What other files enter matters, too,
    and whatever it leads to.

    Args:
        source: the text.
        module: its tree.
        triggers: the patterns of the rules that run (`amplint.rule.Rule`).
        entered: the names of the functions, classes and methods that other files enter.
    """
    data = source.text.encode()
    units = _units(source, data, module, sorted(set(triggers)))
    if not entered and not any(unit.marked or any(method.marked for method in unit.methods) for unit in units):
        return []
    told = bool(libraries.told_in(data))
    _keep(units, told, entered)
    rows: set[int] = set()
    for unit in units:
        if unit.kept:
            rows.update(range(unit.first, unit.last + 1))
            for method in unit.methods:
                if not method.kept:
                    rows.difference_update(range(method.first, method.last + 1))
            if not told and _DECLARES in _all_words(unit) and not _CONTINUED.search(source.text):
                rows.difference_update(_declared([unit.node]))
    return None if len(rows) == len(source.line_starts) else sorted(rows)


def _declared(block: Sequence[ast.stmt]) -> Iterator[int]:
    """The rows of what does nothing but declare an option of a program, in a block and below it; no block becomes empty."""
    options: list[ast.stmt] = []
    kept: list[ast.stmt] = []
    for each in block:
        (options if type(each) is ast.Expr and _declares(each) else kept).append(each)
    kept = kept or options[:1]
    shared = {row for each in kept for row in (each.lineno, each.end_lineno)}
    for each in options:
        rows = range(each.lineno, (each.end_lineno or each.lineno) + 1)
        if shared.isdisjoint((rows[0], rows[-1])):
            yield from rows
    for each in kept:
        for name in ("body", "orelse", "finalbody", "handlers"):
            yield from _declared(getattr(each, name, ()))


def _declares(statement: ast.stmt) -> bool:
    match statement:
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr=name))):
            return name == _DECLARES
    return False


def _keep(units: list[_Unit], told: bool, entered: frozenset[str]) -> None:
    """Mark what matters, until nothing new is named.

    Args:
        units: the statements of the file.
        told: whether the text tells a library to scale.
        entered: what other files name.
    """
    words = frozenset().union(*map(_all_words, units))
    trains = told or "backward" in words or any(_SCALER.search(word) for word in words)
    protocol = frozenset(filter(pattern(_PROTOCOL_WORDS).search, words)) if trains else frozenset[str]()
    follows = (
        trains or bool(entered) or "grad" in words or any(_LOSS.search(word) or _HALF.search(word) for word in words)
    )
    for unit in units:
        short = not unit.definition and unit.last - unit.first < _SHORT
        named_there = unit.definition and not unit.names.isdisjoint(entered)
        unit.kept = short or named_there or unit.marked or any(method.marked for method in unit.methods)
    busy = [unit for unit in units if not protocol.isdisjoint(_all_words(unit))]
    entering = [(unit, part, words) for unit in units for part, words in _entering(unit)]
    if follows:
        _keep_callers(units)
    named = entered
    while True:
        for unit in units:
            if unit.kept:
                _keep_methods(unit, named, protocol)
        before, named = named, entered.union(*(_kept_words(unit) for unit in units if unit.kept))
        definitions = _telling_names(units)
        for unit in units:
            unit.kept = unit.kept or (follows and unit.definition and not unit.names.isdisjoint(named))
        for unit in units:
            unit.kept = unit.kept or not definitions.isdisjoint(unit.bases)
        for unit in busy:
            unit.kept = unit.kept or not definitions.isdisjoint(_all_words(unit))
        for unit, part, words in entering:
            if not definitions.isdisjoint(words):
                unit.kept = part.kept = True
        if named == before:
            return


def _keep_callers(units: list[_Unit]) -> None:
    """Mark the definitions that lead to one which matters for its own sake, through others: they say what it is given."""
    names = frozenset().union(*(unit.names for unit in units if unit.kept and unit.definition))
    methods = (method for unit in units for method in unit.methods if method.marked and not _is_special(method))
    names = names.union(*(method.names for method in methods))
    waiting = [unit for unit in units if unit.definition and not unit.kept]
    while names:
        found = [unit for unit in waiting if not names.isdisjoint(_all_words(unit))]
        for unit in found:
            unit.kept = True
        waiting = [unit for unit in waiting if not unit.kept]
        names = frozenset().union(*(unit.names for unit in found))


def _telling_names(units: list[_Unit]) -> frozenset[str]:
    """The names of what is kept for its own sake: who names one of them may be part of the protocol."""
    kept = [unit for unit in units if unit.kept and (unit.definition or unit.marked)]
    return frozenset().union(*(unit.names for unit in kept))


def _entering(unit: _Unit) -> Iterator[tuple[_Unit, frozenset[str]]]:
    """The functions and methods of a unit that enter something by `with`, or return what a call gives, each with the words
    of that."""
    for part in unit.methods or ([unit] if isinstance(unit.node, _FUNCTIONS) else []):
        if part.entered:
            yield part, frozenset(_identifiers(*part.entered))


def _keep_methods(unit: _Unit, named: frozenset[str], protocol: frozenset[str]) -> None:
    busy = {name for method in unit.methods if method.kept and not _is_special(method) for name in method.names}
    for method in unit.methods:
        wanted = _is_special(method) or method.marked or not method.names.isdisjoint(named)
        acts = not protocol.isdisjoint(method.words) or not busy.isdisjoint(method.words)
        method.kept = method.kept or wanted or acts


def _is_special(method: _Unit) -> bool:
    return any(name.startswith("__") or name in ("forward", "load_state_dict") for name in method.names)


def _all_words(unit: _Unit) -> frozenset[str]:
    return unit.words.union(*(method.words for method in unit.methods))


def _kept_words(unit: _Unit) -> frozenset[str]:
    return unit.words.union(*(method.words for method in unit.methods if method.kept))


# -- reading -------------------------------------------------------------------------------------------------------------


def _units(source: Source, data: bytes, module: ast.Module, triggers: list[str]) -> list[_Unit]:
    units = [_unit(statement) for statement in module.body]
    told = (f"^{word}$" for word in libraries.told_in(data))
    amp = pattern((*AMP_WORDS, *told, *(trigger for trigger in triggers if not _is_text(trigger))))
    telling = frozenset(filter(amp.search, frozenset().union(*map(_all_words, units)))).union(
        _aliases(module, amp), _contexts(units, module), own_contexts(data)
    )
    rows = _rows_of(source, tuple(each for each in triggers if _is_text(each) and may_trigger(data, each)))
    for unit in (each for whole in units for each in (whole, *whole.methods)):
        unit.marked = not telling.isdisjoint(unit.words) or any(unit.first <= row <= unit.last for row in rows)
    return units


def _unit(statement: ast.stmt) -> _Unit:
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


def _spanned(node: ast.stmt, names: Iterable[str], *parts: ast.AST, definition: bool = True) -> _Unit:
    """The unit of a statement; `parts` are what its words stand in."""
    first = min([node.lineno, *(decorator.lineno for decorator in getattr(node, "decorator_list", ()))])
    names = frozenset(names)
    entered: list[ast.AST] = []
    words = names.union(_identifiers(*parts, entered=entered))
    return _Unit(names, first, node.end_lineno or node.lineno, words, node, entered, definition=definition)


def _identifiers(*nodes: ast.AST, entered: list[ast.AST] | None = None) -> set[str]:
    """The identifiers in some nodes; what they enter, and what the calls run that they return, goes to `entered`."""
    found: set[str] = set()
    for level in levels(*nodes):
        for node in level:
            kind = type(node)
            if kind in _NAMED_BY:
                found.add(getattr(node, _NAMED_BY[kind]))
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


def _contexts(units: list[_Unit], module: ast.Module) -> frozenset[str]:
    """The names of contexts that the file imports and enters, and that may be regions."""
    imports = (node for node in module.body if isinstance(node, ast.Import | ast.ImportFrom))
    names = {(each.asname or each.name).partition(".")[0] for node in imports for each in node.names}
    candidates = frozenset(filter(CONTEXT_NAME.search, names))
    if not candidates:
        return candidates
    entered = (words for unit in units for _, words in _entering(unit))
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
