"""The grammar of random programs covers the whole catalogue; what it never draws is named here, without torch."""

from __future__ import annotations

import ast
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from random import Random

import pytest

pytest.importorskip("hypothesis", reason="the campaign draws programs with hypothesis")

from hypothesis import HealthCheck, Phase, find, settings
from hypothesis.errors import NoSuchExample

from amplint.engine.registry import load_rules
from amplint.model.protocol import hazards
from amplint.model.protocol.hazard import HazardKind

from .grammar import programs
from .program import Program
from .static_witness import hazard_kinds, read

HERE = Path(__file__).parent
_SETTINGS = settings(
    max_examples=2000,
    deadline=None,
    database=None,
    phases=[Phase.generate],
    suppress_health_check=list(HealthCheck),
)


def planted_codes() -> set[str]:
    """The rules that have a plant, read from the text of the plants, which need torch."""
    texts = (path.read_text(encoding="utf-8") for path in (HERE / "plants").glob("*.py"))
    return {code for text in texts for code in re.findall(r'^@plant\(\s*"(AMP\d{3})"', text, re.MULTILINE)}


def test_every_rule_that_is_no_hazard_has_a_plant() -> None:
    others = {rule.code for rule in load_rules() if rule.name not in hazard_kinds()}
    assert others - planted_codes() == set(), "add a function with @plant to tests/campaign/plants"
    assert planted_codes() - others == set(), "the grammar brings these about: they need no plant"


def test_the_grammar_covers_every_kind_of_hazard() -> None:
    missing = set(HazardKind)
    events: Counter[str] = Counter()
    clean = 0

    def all_found(program: Program) -> bool:
        nonlocal clean
        reading = read(program)
        missing.difference_update(HazardKind(kind) for kind, _ in reading.hazards)
        events.update(reading.events)
        clean += not reading.hazards
        return not missing and clean > 0

    with suppress(NoSuchExample):
        find(programs(), all_found, settings=_SETTINGS, random=Random(0))
    assert not missing, "\n".join(lacking(kind, events) for kind in sorted(missing))
    assert clean > 0, "the grammar writes no program without a hazard"


EXITS = ("continue", "break", "return", "raise")
_EACH_NTH = r"if .*(?:% \d == 0|% accumulate == 0|update_grad|count == 0)"
SHAPES_OF_LONG_LOOPS = {
    "twelve options that do not depend on each other": r"^def train\(.*\boption_11\b",
    "accumulation with parts of a batch in it": rf"^( +)for part in (?:.*\n)*?\1{_EACH_NTH}",
    "an option inside of an accumulation": rf"{_EACH_NTH}.*:\n +if (?:not )?(?:option_|use_clip|late|extra)",
    **{f"an exit from a handler by `{how}`": rf"except \w+:\n(?: +.*zero_grad.*\n)? +{how}\b" for how in EXITS},
    "an iteration of 300 statements": r"value_29\d = ",
    "a helper that is called five times": r"(?:^( *)((?:\w+ = )?(?:self\.)?do_\d\(.*\))\n)(?:\1\2\n){4}",
}


def test_the_grammar_draws_the_shapes_of_long_loops() -> None:
    missing = dict(SHAPES_OF_LONG_LOOPS)

    def all_drawn(program: Program) -> bool:
        for name in [name for name, shape in missing.items() if re.search(shape, program.text, re.MULTILINE)]:
            del missing[name]
        return not missing

    with suppress(NoSuchExample):
        find(programs(), all_drawn, settings=_SETTINGS, random=Random(0))
    assert not missing, "add a function with @shape, or see why none of these is drawn"


def lacking(kind: HazardKind, events: Counter[str]) -> str:
    """Which production the grammar lacks for a kind of hazard.

    Args:
        kind: what no program has shown.
        events: how many of the programs had each kind of event.
    """
    hints = []
    for judge, event in judgements(kind):
        lacks = "none in such a state: add a function with @mistake to mistakes.py, or one with @shape to shapes.py"
        if not events[event]:
            lacks = "add a move that makes one to moves.py"
        hints.append(f"{kind}: {judge} judges {event}, which {events[event]} programs have; {lacks}")
    return "\n".join(hints) or f"{kind}: nothing in amplint/model/protocol/hazards judges it"


def judgements(kind: HazardKind) -> list[tuple[str, str]]:
    """The functions that raise a kind of hazard, each with a kind of event that it judges."""
    return [
        (f"{path.stem}.{function.name}", event)
        for path in sorted(Path(hazards.__path__[0]).glob("*.py"))
        for function in functions_with(f"HazardKind.{kind.name}", ast.parse(path.read_text(encoding="utf-8")))
        for event in judged_by(function)
    ]


def functions_with(expression: str, module: ast.Module) -> list[ast.FunctionDef]:
    """The functions in which an expression stands; in place of one that gets no event, those that use it."""
    functions = [node for node in module.body if isinstance(node, ast.FunctionDef)]
    found = [each for each in functions if expression in map(ast.unparse, names_in(each))]
    users = [user for each in found if not judged_by(each) for user in functions_with(each.name, module)]
    return [*(each for each in found if judged_by(each)), *users]


def names_in(function: ast.FunctionDef) -> Iterator[ast.expr]:
    return (node for node in ast.walk(function) if isinstance(node, (ast.Attribute, ast.Name)))


def judged_by(function: ast.FunctionDef) -> list[str]:
    """The kinds of event that a function gets as `event`."""
    given = [argument.annotation for argument in function.args.args if argument.arg == "event"]
    return [event for each in given if each is not None for event in ast.unparse(each).split(" | ")]


@pytest.mark.parametrize("kind", HazardKind, ids=str)
def test_what_is_lacking_is_said(kind: HazardKind) -> None:
    (_, event), *_ = judgements(kind)
    assert f"judges {event}, which 0 programs have; add a move that makes one to moves.py" in lacking(kind, Counter())
    assert f"judges {event}, which 7 programs have; none in such a state" in lacking(kind, Counter({event: 7}))
