"""The lines that carry the state of a scaler into a checkpoint and back: how two texts differ in them."""

from __future__ import annotations

import ast
from collections import Counter
from collections.abc import Iterator
from dataclasses import replace

from amplint.diagnostics import Diagnostic
from amplint.facts.resume_checkpoints import Checkpoints
from amplint.roles.step_pairs import StepPair
from amplint.rule import File
from amplint.runtime.changes import function_at
from amplint.runtime.experiments.state_lines import WithoutStates
from amplint.runtime.statement_parts import last_name
from amplint.syntax.access_paths import path_of
from amplint.syntax.tree import Tree


def stepped_by(file: File, diagnostic: Diagnostic) -> StepPair | None:
    """The scaler whose state a checkpoint lacks, with its optimizer; None where the checkpoint is not found again.

    Args:
        file: the file as it stands.
        diagnostic: the finding about the checkpoint, or about its load.
    """
    checkpoints = file.fact(Checkpoints)
    places = [(each.place, each.pair) for each in checkpoints.incomplete]
    places += [(each.call, each.pair) for each in checkpoints.unrestored]
    return next((pair for place, pair in places if file.range(place) == diagnostic.range), None)


def followed_apart(before: File, own: File, after: File, diagnostic: Diagnostic) -> tuple[File, File]:
    """The file with the fix of the rule, and that with a repair, without the lines that do nothing but carry the state.

    Args:
        before: the file as it stands.
        own: the file with the fix of the rule.
        after: the file with the repair.
        diagnostic: the finding.
    """
    pair = stepped_by(before, diagnostic)
    return (own, after) if pair is None else (_without_states(own, pair), _without_states(after, pair))


def _without_states(file: File, pair: StepPair) -> File:
    tree = WithoutStates(file, pair).visit(ast.parse(file.source.text))
    return File(Tree(replace(file.source, text=ast.unparse(ast.fix_missing_locations(tree)))), torch=file.torch)


def keys(file: File, pair: StepPair) -> tuple[set[str], set[str]]:
    """The keys under which a scaler's state is put into checkpoints, and those from which it is loaded.

    Args:
        file: a file.
        pair: the scaler, by its name.
    """
    carried = WithoutStates(file, pair)
    carried.visit(ast.parse(file.source.text))
    return carried.saved, carried.loaded


def asks_less(before: File, own: File, after: File, diagnostic: Diagnostic) -> bool:
    """Whether a repair takes the state of a scaler under fewer conditions than the fix of the rule, as if there always were one.

    Args:
        before: the file as it stands.
        own: the file with the fix of the rule.
        after: the file with the repair.
        diagnostic: the finding.
    """
    pair = stepped_by(before, diagnostic)
    if pair is None:
        return False
    name = path_of(pair.scaler).rpartition(".")[2]
    known, mine, theirs = (
        Counter(_conditions_of_states(ast.parse(each.source.text), name)) for each in (before, own, after)
    )
    return min(theirs - known, default=0) < min(mine - known, default=0) and bool(theirs - known)


def is_left_alone(before: File, after: File, diagnostic: Diagnostic) -> bool:
    """Whether the function that puts a checkpoint together is as it was.

    Args:
        before: the file as it stands.
        after: the file with the repair.
        diagnostic: the finding.
    """
    texts = [each.source.text for each in (before, after)]
    name = function_at(texts[0], diagnostic.range.start.row)
    mine, theirs = ([ast.dump(one) for one in _functions(text) if one.name == name] for text in texts)
    return bool(mine) and mine == theirs


def _functions(text: str) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    nodes = ast.walk(ast.parse(text))
    return (each for each in nodes if isinstance(each, (ast.FunctionDef, ast.AsyncFunctionDef)))


def _conditions_of_states(node: ast.AST, name: str, conditions: int = 0) -> Iterator[int]:
    """Under how many conditions each state of the scaler of a name is taken."""
    called = node.func if isinstance(node, ast.Call) else None
    if isinstance(called, ast.Attribute) and called.attr == "state_dict" and last_name(called.value) == name:
        yield conditions
    conditions += isinstance(node, (ast.If, ast.IfExp, ast.BoolOp))
    for _, value in ast.iter_fields(node):
        asked = 0  # by the statements before, which leave the block
        for child in value if isinstance(value, list) else [value]:
            if isinstance(child, ast.AST):
                yield from _conditions_of_states(child, name, conditions + asked)
                asked += isinstance(child, ast.If) and isinstance(child.body[-1], (ast.Return, ast.Raise, ast.Continue))
