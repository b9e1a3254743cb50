"""Mutants that are right repairs all the same: what runs after them computes what it should.

This is decided by the text alone, and never by what a replay says of it: the change is one of a few kinds that are known to make
no difference, or a person has written down why (`same_effect.txt`).
"""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from functools import cache
from pathlib import Path

from amplint.dtypes.values import Tensor
from amplint.model.torch.precision import FLOAT16
from amplint.rule import File
from amplint.runtime.numeric.facts import DtypeTrace
from amplint.syntax.tree import Tree

from .mutants import Mutant
from .program_text import callee, dotted
from .reasons import reasons

BY_HAND = Path(__file__).with_name("same_effect.txt")
"""A mutant a line: its name, ` -> `, and the reason."""

_IDEMPOTENT = frozenset(
    {"zero_grad", "train", "eval", "to", "cuda", "empty_cache", "clip_grad_norm_", "clip_grad_value_"}
)
"""Calls that do nothing more the second time."""
_BLIND = frozenset({"zero_grad", "update", "train", "eval", "get_scale", "print", "to", "cuda", "scale"})
"""Calls that autocast does not change."""
_REPORTS = frozenset({"info", "warning", "add_scalar", "print", "log", "debug"})
_TELLING = _REPORTS | {"append", "item", "empty_cache", "perf_counter", "time"}
"""Calls that change nothing that is computed."""
_FORGOTTEN = _TELLING | {"scale"}
"""Calls of which nothing stays where nothing uses what they give back."""
_ALONE = _BLIND - {"get_scale", "update"}
"""Calls that see and change nothing but what they name."""
_CLIPS = frozenset({"clip_grad_norm_", "clip_grad_value_"})
_ACTING = frozenset("step update backward unscale_ append extend pop next write save load barrier synchronize".split())
"""Calls that do more than give back a value."""
_COMMUTE = frozenset(
    map(
        frozenset,
        (
            ("unscale_",),
            ("zero_grad", "update"),
            ("zero_grad", "scheduler.step"),
            ("update", "scheduler.step"),
            ("get_scale", "backward"),
            ("get_scale", "step"),
        ),
    )
)
"""Pairs of calls of which neither sees what the other does, although one scaler and one optimizer belong together."""
_SYMMETRIC = frozenset({"mse_loss", "l1_loss", "smooth_l1_loss", "huber_loss"})
_OVERFLOWING = frozenset({"AMP306", "AMP309"})
"""Rules whose findings are about results that half cannot hold."""
_MODULES = frozenset({"torch", "nn", "F", "amp", "self", "th", "optim"})


def why_same(mutant: Mutant) -> str:
    """Why a mutant has the effect of the fix; empty where it has another one, or nobody can tell.

    Args:
        mutant: the mutant.
    """
    known = _by_hand().get(f"{mutant.repaired.diagnostic.code} {mutant.name}", "")
    kind = _KINDS.get(mutant.mutator)
    return known or (kind(mutant) if kind else "")


@cache
def _by_hand() -> dict[str, str]:
    return reasons(BY_HAND)


def _quoted(mutant: Mutant) -> list[str]:
    """What the description of a change quotes."""
    return re.findall(r"`([^`]+)`", mutant.change.what)


def _repeated(mutant: Mutant) -> str:
    called = _called(_quoted(mutant)[0])
    return "the second call does nothing more, or tells the same" if called in _IDEMPOTENT | _REPORTS else ""


def _wrapped(mutant: Mutant) -> str:
    blind = _called(_quoted(mutant)[0]) in {"step", "clip_grad_norm_"} and "import torch\n" in mutant.change.text
    return "autocast changes no operation on parameters and gradients in float32" if blind else ""


def _moved(mutant: Mutant) -> str:
    statement, block = _quoted(mutant)[:2]
    region = block.startswith("with ") and "autocast" in block and "no_grad" not in block
    return "autocast does not change it" if region and _is_blind(statement) else ""


def _is_blind(text: str) -> bool:
    """Whether a statement does the same in a region: a call that autocast does not change, or one that computes nothing."""
    value = getattr(_statement(text), "value", None)
    computes = value is None or any(isinstance(each, (ast.Call, ast.BinOp, ast.UnaryOp)) for each in ast.walk(value))
    return _called(text) in _BLIND or not computes


def _swapped(mutant: Mutant) -> str:
    first, second = _quoted(mutant)[:2]
    calls = _called(first), _called(second)
    apart = not _names(first) & _names(second) or all(map(_only_computes, (first, second)))
    alone = all(each in _ALONE or each[:1].isupper() for each in calls) or all(each in _CLIPS for each in calls)
    alone = alone or all(map(_only_computes, (first, second)))
    told = any(_called(each) in _TELLING or _is_constant(each) for each in (first, second))
    forward = "zero_grad" in calls and any(
        re.match(r"[\w, ]+ = (?!.*(backward|grad|step)\()", each) for each in (first, second)
    )
    leaves = any(re.match(r"(return|raise|break|continue)\b", each) for each in (first, second))
    same = (apart and not leaves and (alone or told or forward)) or frozenset(calls) in _COMMUTE
    same = same or _under_other_keys(first, second)
    return "neither statement sees what the other does" if same else ""


def _under_other_keys(first: str, second: str) -> bool:
    """Whether two statements put values into one dictionary that do not depend on what is in it, under different keys."""
    match _statement(first), _statement(second):
        case (
            ast.Assign([ast.Subscript(ast.Name(one), ast.Constant(key))], value),
            ast.Assign([ast.Subscript(ast.Name(other), ast.Constant(another))], thing),
        ):
            read = {each.id for part in (value, thing) for each in ast.walk(part) if isinstance(each, ast.Name)}
            return one == other and key != another and one not in read
    return False


def _only_computes(text: str) -> bool:
    """Whether a statement gives names a value, and does nothing else."""
    statement = _statement(text)
    if not isinstance(statement, ast.Assign) or not all(
        isinstance(each, ast.Name | ast.Tuple) for each in statement.targets
    ):
        return False
    called = {callee(each) for each in ast.walk(statement.value) if isinstance(each, ast.Call)}
    return not any(name in _ACTING or name.endswith("_") for name in called)


def _is_constant(text: str) -> bool:
    statement = _statement(text)
    return isinstance(statement, ast.Assign) and isinstance(statement.value, ast.Constant)


def _cleared_otherwise(mutant: Mutant) -> str:
    row = mutant.change.text.splitlines()[mutant.change.row - 1]
    same = "zero_grad(set_to_none=" in row and set(_quoted(mutant)) <= {"True", "False"}
    return "gradients that are zero add as little as none" if same else ""


def _left_unused(mutant: Mutant) -> str:
    """Of an edit that deletes: why what it leaves has no effect."""
    fixed, left = (ast.parse(text) for text in (mutant.repaired.text, mutant.change.text))
    known = Counter(ast.dump(each) for each in ast.walk(fixed) if isinstance(each, ast.stmt))
    small = [each for each in ast.walk(left) if isinstance(each, (ast.Assign, ast.Expr))]
    more = [each for each in small if not known[ast.dump(each)]]
    kept = {ast.dump(each) for each in small}
    gone = [each for each in ast.walk(fixed) if isinstance(each, (ast.Assign, ast.Expr)) and ast.dump(each) not in kept]
    if "`delete`" not in mutant.change.what or len(more) != 1 or gone:
        return ""
    names = {each.id for each in ast.walk(more[0]) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Store)}
    read = [each.id for each in ast.walk(left) if isinstance(each, ast.Name) and isinstance(each.ctx, ast.Load)]
    called = {callee(each) for each in ast.walk(more[0]) if isinstance(each, ast.Call)}
    acts = any(name in _ACTING or name.endswith("_") for name in called)
    acts = acts or (isinstance(more[0], ast.Expr) and bool(called - _FORGOTTEN))
    return "" if acts or names & set(read) else "nothing uses what is left"


def _half_already(mutant: Mutant) -> str:
    """Of a value that is cast to half: why it is in half anyway, as the static flow of dtypes has it."""
    if not mutant.change.what.endswith("as half"):
        return ""
    [text] = _quoted(mutant)
    if _dtypes(mutant.repaired.text, mutant, lambda row, told: row == mutant.change.row and told == _line(text)):
        return "it is in float16 already"
    is_returned = mutant.change.text.splitlines()[mutant.change.row - 1].strip().startswith("return ")
    before = mutant.repaired.fixture.source.text
    if mutant.repaired.diagnostic.code in _OVERFLOWING:
        return ""  # that it was in half is the defect
    returned = _dtypes(before, mutant, lambda row, told: f"return {told}" in before and row >= mutant.change.row - 3)
    return "what is returned was in float16 with the code as it stands" if is_returned and returned else ""


def _dtypes(text: str, mutant: Mutant, is_meant: Callable[[int, str], bool]) -> bool:
    """Whether all expressions that are meant are in float16, as the static flow of dtypes is sure: a model may give float32."""
    file = File(Tree(replace(mutant.repaired.fixture.source, text=text)), torch=(2, 3))
    facts = DtypeTrace(file)
    nodes = ((node, frame) for frame in facts.frames for node, _ in facts.nodes(frame))
    seen = [
        facts.seen(node, frame).value
        for node, frame in nodes
        if is_meant(file.range(node).start.row, _line(file.tree.text(node)))
    ]
    return bool(seen) and all(isinstance(each, Tensor) and each.sure and each.dtype == FLOAT16 for each in seen)


def _line(text: str) -> str:
    return " ".join(text.split())


def _unscaled_later(mutant: Mutant) -> str:
    """Of a call that is left to chance: why it makes no difference."""
    statement = _quoted(mutant)[0]
    reads = re.search(r"clip_grad|\.grad\b|grad_norm", mutant.repaired.text)
    return "the step unscales what is not unscaled yet" if _called(statement) == "unscale_" and not reads else ""


def _unwatched(mutant: Mutant) -> str:
    header = _quoted(mutant)[0]
    return (
        "what it leaves only watches"
        if re.match(r"with (\w+\.)*(record_function|profile|Timer|timer)\(", header)
        else ""
    )


def _left_out(mutant: Mutant) -> str:
    function, *arguments = _quoted(mutant)
    if function.split(".")[-1] in _SYMMETRIC and mutant.change.what.endswith("with its arguments swapped"):
        return "it is the same from either side"
    if "autocast" in function and arguments == ["enabled=True"]:
        return "it is the default"
    row = mutant.change.text.splitlines()[mutant.change.row - 1]
    default = ("GradScaler", '"cuda"'), ("autocast", "dtype=torch.float16")
    same = any(
        (function.split(".")[-1], each) in default and ('"cuda"' in row or each == '"cuda"') for each in arguments
    )
    return "it is the default" if same else ""


def _detached(mutant: Mutant) -> str:
    if not mutant.change.what.endswith(".detach()`"):
        return ""
    integers = re.search(r"\.(argmax|eq|long)\([^()]*\)\)\.detach\(\)`$", mutant.change.what)
    return "no gradient goes there" if integers or _without_gradients(mutant) else ""


def _without_gradients(mutant: Mutant) -> bool:
    """Whether the row stands in a function or a block that computes no gradients."""
    row = mutant.change.row
    for node in ast.walk(ast.parse(mutant.change.text)):
        if isinstance(node, (ast.FunctionDef, ast.With)) and node.lineno <= row <= (node.end_lineno or row):
            heads = (
                node.decorator_list if isinstance(node, ast.FunctionDef) else [item.context_expr for item in node.items]
            )
            if any(callee(head) in ("no_grad", "inference_mode") for head in heads):
                return True
    return False


def _called(text: str) -> str:
    """What a statement calls, as the tables name it; the class, where it makes an object."""
    value = getattr(_statement(text), "value", None)
    if not isinstance(value, ast.Call):
        return ""
    name = callee(value)
    receiver = dotted(value.func.value).lower() if isinstance(value.func, ast.Attribute) else ""
    return "scheduler.step" if name == "step" and "sched" in receiver else name


def _names(text: str) -> set[str]:
    statement = _statement(text)
    return set(_dotted_in(statement)) - _MODULES if statement else set()


def _dotted_in(node: ast.AST) -> Iterator[str]:
    name = dotted(node) if isinstance(node, ast.expr) else ""
    if name:
        yield ".".join(name.split(".")[: 2 if name.startswith("self.") else 1])
        return
    for child in ast.iter_child_nodes(node):
        yield from _dotted_in(child)


def _statement(text: str) -> ast.stmt | None:
    try:
        body = ast.parse(text).body
    except SyntaxError:
        return None
    return body[0] if len(body) == 1 else None


_KINDS: Mapping[str, Callable[[Mutant], str]] = {
    "repeat_call": _repeated,
    "wrap": _wrapped,
    "move_in": _moved,
    "move_out": _moved,
    "swap_neighbours": _swapped,
    "argument": _left_out,
    "arithmetic": _detached,
    "literal": _cleared_otherwise,
    "undo_one": _left_unused,
    "guard": _unscaled_later,
    "unwrap": _unwatched,
    "no_amp": _half_already,
}
