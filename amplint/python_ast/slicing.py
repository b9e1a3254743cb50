"""Which rows of a file matter: those of the statements that have to do with AMP, and of what they lean on.

The unit is the top-level statement, and in a class the method. Stdlib `ast` settles it, several times cheaper than a parse by
LibCST of what turns out not to matter.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterable, Iterator, Sequence

from amplint.model import libraries
from amplint.python_ast.gate import pattern
from amplint.python_ast.statement_units import StatementUnit, mark_units, units_of
from amplint.source import Source

_PROTOCOL_WORDS = (
    r"^backward$", r"^step$", r"^zero_grad$", r"^clip_grad", r"^get_total_norm$", r"^clip_grads_with_norm_$", r"^grad$",
    r"^b?float16$", r"^half$", r"optim", r"sched", r"^nullcontext$", r"^ExitStack$", r"^parameters$",
    r"^(?:load_)?state_dict$",
)  # fmt: skip
"""Identifiers that say more about AMP code that stands elsewhere in the file."""


_SCALER = re.compile("[Ss]caler")
_STEPPED = re.compile(r"\.step\(\s*(?:\w+\.)*(\w*opt\w*)\s*\)")
"""Something that a scaler steps, by a name for optimizers, which may be that of options elsewhere."""
_LOSS = re.compile("loss|criterion", re.IGNORECASE)
_HALF = re.compile("^b?float16$|^half$")
_DECLARES = "add_argument"
"""How a program declares an option: nothing is asked of the declaration."""
_CONTINUED = re.compile(r";[ \t\f]*\\\r?$", re.MULTILINE)
"""A statement goes on behind another one, in the next row: that row must not go without the first."""
_SHORT = 40
"""Statements outside of definitions bind names; a longer one than this many rows is a table or a text."""


def relevant_rows(
    source: Source,
    module: ast.Module,
    triggers: Iterable[str] = (),
    entered: frozenset[str] = frozenset(),
    keeps: Iterable[str] = (),
) -> list[int] | None:
    """The rows of the statements that matter, ascending; empty when none does, None when all do.

    A statement matters when it holds an identifier of AMP, or of a rule; then so do imports and short statements that bind
    names. In a file that trains, or computes in half, so do the definitions that call one which matters, through others, too,
    those that a kept statement names, and the statements of the protocol that name a kept one; elsewhere nothing but the
    single call can be wrong, or what a function enters or hands on that a kept one gives. What binds a global anew that a
    definition names which matters, and what other files enter, matter, too, and whatever they lead to.

    Args:
        source: the text.
        module: its tree.
        triggers: the patterns of the rules that run (`amplint.rule.Rule`).
        entered: the names of the functions, classes and methods that other files enter.
        keeps: patterns like those, for what matters only in a file in which something else does.
    """
    data, units = source.text.encode(), units_of(module)
    if not mark_units(units, source, data, module, sorted(set(triggers))) and not entered:
        return []
    if keeps:
        mark_units(units, source, data, module, sorted({*triggers, *keeps}))
    told = bool(libraries.told_in(data))
    _keep(units, told, entered, frozenset(_STEPPED.findall(source.text)))
    rows: set[int] = set()
    for unit in units:
        if unit.kept:
            rows.update(range(unit.first, unit.last + 1))
            for method in unit.methods:
                if not method.kept:
                    rows.difference_update(range(method.first, method.last + 1))
            if not told and _DECLARES in unit.all_words and not _CONTINUED.search(source.text):
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


def _keep(units: list[StatementUnit], told: bool, entered: frozenset[str], stepped: frozenset[str]) -> None:
    """Mark what matters, until nothing new is named.

    Args:
        units: the statements of the file.
        told: whether the text tells a library to scale.
        entered: what other files name.
        stepped: the names of what is stepped.
    """
    words = frozenset().union(*(unit.all_words for unit in units))
    trains = told or "backward" in words or any(_SCALER.search(word) for word in words)
    protocol = stepped.union(filter(pattern(_PROTOCOL_WORDS).search, words)) if trains else frozenset[str]()
    follows = (
        trains or bool(entered) or "grad" in words or any(_LOSS.search(word) or _HALF.search(word) for word in words)
    )
    for unit in units:
        short = not unit.definition and unit.last - unit.first < _SHORT
        named_there = unit.definition and not unit.names.isdisjoint(entered)
        unit.kept = short or named_there or unit.marked or any(method.marked for method in unit.methods)
    busy = [unit for unit in units if not protocol.isdisjoint(unit.all_words)]
    entering = [(unit, part, words) for unit in units for part, words in unit.entering()]
    if follows:
        _keep_callers(units)
    named = entered
    while True:
        _keep_rebinding(units)
        for unit in units:
            if unit.kept:
                _keep_methods(unit, named, protocol)
        before, named = named, entered.union(*(unit.kept_words for unit in units if unit.kept))
        definitions = _telling_names(units)
        bases = frozenset[str]().union(*(unit.bases for unit in units if unit.kept))
        for unit in units:
            wanted = named if follows else bases  # what a class inherits says whether all of its methods are known
            unit.kept = unit.kept or (unit.definition and not unit.names.isdisjoint(wanted))
        for unit in units:
            unit.kept = unit.kept or not definitions.isdisjoint(unit.bases)
        for unit in busy:
            unit.kept = unit.kept or not definitions.isdisjoint(unit.all_words)
        for unit, part, words in entering:
            if not definitions.isdisjoint(words):
                unit.kept = part.kept = True
        if named == before:
            return


def _keep_callers(units: list[StatementUnit]) -> None:
    """Mark the definitions that lead to one which matters for its own sake, through others: they say what it is given."""
    names = frozenset().union(*(unit.names for unit in units if unit.kept and unit.definition))
    methods = (method for unit in units for method in unit.methods if method.marked and not method.is_special)
    names = names.union(*(method.names for method in methods))
    waiting = [unit for unit in units if unit.definition and not unit.kept]
    while names:
        found = [unit for unit in waiting if not names.isdisjoint(unit.all_words)]
        for unit in found:
            unit.kept = True
        waiting = [unit for unit in waiting if not unit.kept]
        names = frozenset().union(*(unit.names for unit in found))


def _keep_rebinding(units: list[StatementUnit]) -> None:
    """Mark the functions and methods that bind a name of the module anew which something kept for its own sake names."""
    kept = (unit.kept_words for unit in units if unit.kept and (unit.definition or unit.marked))
    named = frozenset[str]().union(*kept)
    for unit in units:
        for part in (unit, *unit.methods):
            if not part.rebound.isdisjoint(named):
                unit.kept = part.kept = True


def _telling_names(units: list[StatementUnit]) -> frozenset[str]:
    """The names of what is kept for its own sake: who names one of them may be part of the protocol."""
    kept = [unit for unit in units if unit.kept and (unit.definition or unit.marked)]
    return frozenset().union(*(unit.names for unit in kept))


def _keep_methods(unit: StatementUnit, named: frozenset[str], protocol: frozenset[str]) -> None:
    busy = {name for method in unit.methods if method.kept and not method.is_special for name in method.names}
    for method in unit.methods:
        wanted = method.is_special or method.marked or not method.names.isdisjoint(named)
        acts = not protocol.isdisjoint(method.words) or not busy.isdisjoint(method.words)
        method.kept = method.kept or wanted or acts
