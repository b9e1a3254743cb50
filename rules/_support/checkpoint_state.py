"""The fix of AMP114: the scaler's state next to the optimizer's, and loaded where the optimizer's is."""

from __future__ import annotations

import re

import libcst as cst

from amplint.diagnostics import SAFE, Edit, Fix
from amplint.facts.restored_checkpoints import Unrestored
from amplint.facts.resume_checkpoints import Checkpoints
from amplint.facts.saved_by_helpers import Incomplete
from amplint.rule import File

from .call_edits import insert_arguments, quoted
from .optional_scalers import gives_none, holds_none, may_be_left_out
from .restore_state import Load, is_in_reach, restored

_OPTIMIZER = re.compile("(optimizer|optim|opt)(s(?![a-z]))?", re.IGNORECASE)
_REST_OF_ROW = re.compile(r"[ \t]*(,?)[ \t]*(#[^\r\n]*)?(?=\r?\n)")


def complete(file: File, each: Incomplete) -> Fix | None:
    """Save the scaler's state, too; and load it where the optimizer's is loaded in this file."""
    may_be_none = _may_be_none(file, each.pair.scaler, each.place)
    if may_be_none is None or not is_in_reach(file, each.pair.scaler, each.place):
        return None
    if not file.fact(Checkpoints).scaler_states.has(each.pair.scaler, "state_dict"):
        return None
    scaler = file.tree.text(each.pair.scaler)
    if each.state is None:
        if not each.parameter or not isinstance(each.place, cst.Call):
            return None
        edits = insert_arguments(file, each.place, [f"{each.parameter}={scaler}"], (), len(each.place.args))
        return Fix(f"Pass `{each.parameter}={scaler}`", tuple(edits), SAFE)
    value = f"{scaler}.state_dict()" + (f" if {scaler} is not None else None" if may_be_none else "")
    loaded = file.fact(Checkpoints).scaler_states.key_of(each.pair.scaler)
    key = loaded or _OPTIMIZER.sub("scaler", each.state.key, count=1)
    key = key if "scaler" in key or loaded else "scaler"
    saving = _saving(file, each, key, value)
    if saving is None:
        return None
    if file.fact(Checkpoints).scaler_states.loads_of(each.pair.scaler) or not each.state.key:
        return Fix(f"Save `{scaler}.state_dict()`", tuple(sorted(saving)), SAFE)
    pair, found = each.pair, file.fact(Checkpoints).scaler_states.loads(each.state.key)
    if found and not file.fact(Checkpoints).scaler_states.has(pair.scaler, "load_state_dict"):
        return None
    loads = [Load(*load, pair.scaler, pair.call, key, may_be_none) for load in found]
    loading, trust = restored(file, loads)
    title = f"Save `{scaler}.state_dict()`" + (" and load it" if loading else "")
    return Fix(title, tuple(sorted((*saving, *loading))), trust)


def give_back(file: File, each: Unrestored) -> Fix | None:
    """Load the scaler's state where the optimizer's is loaded."""
    if each.holder is None:
        return None
    may_be_none = _may_be_none(file, each.pair.scaler, each.saved)
    if may_be_none is None:
        return None
    if isinstance(each.saved, cst.DictElement):
        may_be_none = may_be_none or holds_none(each.saved.value)
    loading, trust = restored(
        file, [Load(each.call, each.holder, each.pair.scaler, each.pair.call, each.key, may_be_none)]
    )
    title = f"Load the state of `{file.tree.text(each.pair.scaler)}`, too"
    return Fix(title, tuple(sorted(loading)), trust) if loading else None


# -- saving --------------------------------------------------------------------------------------------------------------


def _saving(file: File, each: Incomplete, key: str, value: str) -> list[Edit] | None:
    assert each.state is not None
    if isinstance(each.state.entry, cst.DictElement):
        return _beside(file, each.state.entry, f"{quoted(file, key)}: {value}")
    if isinstance(each.state.entry, cst.Arg):
        return _beside(file, each.state.entry, f"{key}={value}")
    line = file.editor.statement(each.place)
    if not isinstance(line, cst.SimpleStatementLine):
        return None
    if isinstance(each.place, cst.Subscript):
        holder = file.tree.text(each.place.value)
        added = file.editor.insert_after(_after_all(file, each.place, line), f"{holder}[{quoted(file, key)}] = {value}")
        return [added] if each.state.key else None  # whoever reads computed keys may go through all that there are
    return _file_of_its_own(file, each, line, value)


def _after_all(file: File, place: cst.Subscript, line: cst.SimpleStatementLine) -> cst.SimpleStatementLine | cst.For:
    """What the scaler's state goes behind: the loop that puts the states of several optimizers under one key, else the row."""
    loop = file.tree.enclosing(place, cst.For, cst.FunctionDef)
    is_whole = isinstance(file.tree.parent(place), cst.AssignTarget)
    return loop if isinstance(loop, cst.For) and not is_whole else line


def _beside(file: File, entry: cst.DictElement | cst.Arg, text: str) -> list[Edit]:
    """An element behind another one: on a row of its own where that one has a row of its own."""
    start, end = file.tree.span(entry)
    source = file.source.text
    row = source.rfind("\n", 0, start) + 1
    rest = _REST_OF_ROW.match(source, end)
    indent = source[row:start]
    if rest is None or indent.strip():
        return [Edit(end, end, f", {text}")]
    added = f"{file.source.newline}{indent}{text},"
    if rest[1]:
        return [Edit(rest.end(), rest.end(), added)]
    if rest[2]:
        return [Edit(end, end, ","), Edit(rest.end(), rest.end(), added)]
    return [Edit(end, end, f",{added}")]


def _file_of_its_own(file: File, each: Incomplete, line: cst.SimpleStatementLine, value: str) -> list[Edit] | None:
    """The statement that saves the optimizer's state once more, for the scaler, under a name that speaks of it."""
    assert isinstance(each.place, cst.Call)
    value = f"({value})" if " if " in value else value
    saved = each.place.args[0].value
    begin, end = file.tree.span(saved)
    first, last = file.tree.span(line.body[0])
    before, after = file.source.text[first:begin], file.source.text[end:last]
    literal = _OPTIMIZER.subn("scaler", after)
    taken = isinstance(saved, cst.Call) and isinstance(line.body[0], cst.Expr) and line.body[0].value is each.place
    if (
        not taken
        or literal[1] != 1
        or not re.search(r"""["'][^"']*opt""", after, re.IGNORECASE)
        or "\n" in before + after
    ):
        return None
    return [file.editor.insert_after(line, before + value + literal[0])]


# -- the scaler ------------------------------------------------------------------------------------------------------


def _may_be_none(file: File, scaler: cst.BaseExpression, place: cst.CSTNode) -> bool | None:
    """Whether the scaler may be None; None where it may not exist at all."""
    values = list(file.roles.values(scaler))
    if any(gives_none(file, value) for value in values):
        return True
    if not values and re.fullmatch(r"self\.\w+", file.tree.text(scaler)):
        return None  # made out of sight, and perhaps not always
    if not values or any(isinstance(value, cst.Name) or file.roles.made_by(value) is None for value in values):
        return may_be_left_out(file, scaler, place)
    branches = [file.tree.enclosing(value, cst.If, cst.Else, cst.Try, cst.FunctionDef) for value in values]
    conditional = [above for above in branches if above is not None and not isinstance(above, cst.FunctionDef)]
    if len(conditional) < len(values) or set(conditional) & set(file.tree.ancestors(place)):
        return False
    tried = any(isinstance(each, cst.Try) and conditional.count(each) > 1 for each in conditional)
    chosen = next((each for each in conditional if isinstance(each, cst.Else)), None) if len(values) > 1 else None
    either_way = tried or (chosen is not None and not _is_in_a_branch(file, chosen, place))
    return False if either_way else None


def _is_in_a_branch(file: File, side: cst.Else, place: cst.CSTNode) -> bool:
    """Whether a chain of `if` and `else` stands in a branch of another one, and a place does not."""
    chain: cst.CSTNode | None = file.tree.parent(side)
    while isinstance(above := file.tree.parent(chain) if chain is not None else None, cst.If) and above.orelse is chain:
        chain = above
    around = file.tree.enclosing(chain, cst.If, cst.Else, cst.FunctionDef) if chain is not None else None
    return isinstance(around, (cst.If, cst.Else)) and around not in file.tree.ancestors(place)
