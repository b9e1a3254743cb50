"""What exploring costs: it grows with the length of a program, not with the number of its paths; and what the bounds do."""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from textwrap import indent

import pytest
from lowered import file_of, in_loop, kinds

from amplint.hazards.objects_in_reach import objects_in
from amplint.model.exploration import flow_graph
from amplint.model.exploration.effects import Flows
from amplint.model.exploration.explorer import MAX_WORK, Explorer

MAX_STATES = 400

DEFECT = """
scaler.scale(loss).backward()
clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()
"""


def explored(code: str, name: str = "train") -> Explorer:
    """The exploration of one function of a module."""
    functions = file_of(code).analysis.functions
    function = next(each for key, each in functions.items() if key.startswith(f"{name}@"))
    explorer = Explorer(Flows(functions), objects_in(function, functions))
    explorer.run(function)
    return explorer


def work(code: str) -> int:
    """How many states were carried through how many nodes."""
    explorer = explored(code)
    assert not explorer.gave_up
    return explorer.work


def independent(count: int) -> str:
    return "\n".join(f"if args.option_{number}:\n    loss = loss + extra_{number}(batch)" for number in range(count))


def pairs(count: int) -> str:
    return "\n".join(
        f"if args.option_{number}:\n    loss = loss + first_{number}(batch)\n"
        f"if args.option_{number}:\n    loss = loss + second_{number}(batch)"
        for number in range(count)
    )


def asked_twice(count: int) -> str:
    """Conditions that are all asked first, and all asked again later."""
    return f"{independent(count)}\n{independent(count)}"


def nested_ifs(count: int) -> str:
    return nest(count, "if args.option_{0}:")


def nested_loops(count: int) -> str:
    return nest(count, "for item_{0} in batch:")


def nested_regions(count: int) -> str:
    return nest(count, 'with torch.autocast("cuda", enabled=args.option_{0}):')


def tries(count: int) -> str:
    each = "try:\n    loss = loss + extra_{0}(batch)\nexcept ValueError:\n    loss = loss + other_{0}(batch)"
    return "\n".join(each.format(number) for number in range(count))


def exits(count: int) -> str:
    return "\n".join(f"if check_{number}(batch):\n    scheduler.step()\n    continue" for number in range(count))


def matches(count: int) -> str:
    cases = "\n".join(f"    case {number}:\n        loss = loss * {number}" for number in range(count))
    return f"match args.kind:\n{cases}"


def values_of_an_option(count: int) -> str:
    """An option is asked for one value after the other, and then for all but these."""
    values = [f'"kind_{number}"' for number in range(count)]
    chain = "el".join(f"if args.kind == {value}:\n    loss = loss * {number}\n" for number, value in enumerate(values))
    others = " and ".join(f"args.kind != {value}" for value in values[:-1])
    return f"{chain}prepare(args)\nif {others}:\n    loss = loss + extra(batch)"


def calls(count: int) -> str:
    return "\n".join("loss = helper(loss, args)" for _ in range(count))


def nest(count: int, opening: str) -> str:
    body = "loss = loss + extra(batch)"
    for number in range(count):
        body = f"{opening.format(number)}\n{indent(body, ' ')}"
    return body


HELPER = """
def helper(value, options):
    if options.double:
        optimizer.zero_grad()
        value = value * 2
    return value
"""
SHAPES: list[Callable[[int], str]] = [
    independent, pairs, asked_twice, nested_ifs, nested_loops, nested_regions, tries, exits, matches, values_of_an_option,
    calls,
]  # fmt: skip


@pytest.mark.parametrize("shape", SHAPES)
def test_work_grows_with_the_length(shape: Callable[[int], str]) -> None:
    """Forty of a kind cost what four times ten cost, or some times that: nowhere near two to the power of forty."""
    ten, forty = (work(in_loop(f"{shape(count)}\n{DEFECT}", before=HELPER)) for count in (10, 40))
    assert forty <= 16 * ten, "worse than the square of the length"
    assert forty < MAX_WORK / 2


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("before", [True, False], ids=["before", "after"])
def test_the_defect_is_found_beside_all_that(shape: Callable[[int], str], before: bool) -> None:
    body = f"{shape(40)}\n{DEFECT}" if before else f"{DEFECT}\n{shape(40)}"
    assert "clip-before-unscale" in kinds(in_loop(body, before=HELPER))


def test_the_defect_is_found_between_forty_branches() -> None:
    lines = DEFECT.strip().splitlines()
    body = "\n".join(f"if args.option_{number}:\n    log({number})\n    loss = loss * 2" for number in range(20))
    late = body.replace("option_", "late_")
    assert kinds(in_loop(f"{body}\n{lines[0]}\n{late}\n" + "\n".join(lines[1:]))) == ["clip-before-unscale"]


def test_an_option_has_one_of_many_values() -> None:
    asked = "".join(f'if args.kind == "kind_{number}":\n    log({number})\n' for number in range(1, 20))
    unscaled = 'if args.kind == "{0}":\n    scaler.unscale_(optimizer)\n'
    ending = "scaler.step(optimizer)\nscaler.update()"
    for last, expected in (("kind_20", []), ("kind_0", ["repeated-unscale"])):
        body = f"scaler.scale(loss).backward()\n{unscaled.format('kind_0')}{asked}{unscaled.format(last)}{ending}"
        assert kinds(in_loop(body)) == expected


# -- the bounds ----------------------------------------------------------------------------------------------------------


def made(count: int) -> str:
    return "\n".join(f"optimizer_{number} = torch.optim.SGD(model.parameters(), lr=0.1)" for number in range(count))


def told_apart(count: int) -> str:
    """Every flag leaves another protocol state behind and is asked again later: all combinations are different."""
    flags = range(count)
    first = "".join(f"if args.flag_{flag}:\n    scaler.unscale_(optimizer_{flag})\n" for flag in flags)
    again = "".join(f"if args.flag_{flag}:\n    scaler.step(optimizer_{flag})\n" for flag in flags)
    return f"scaler.scale(loss).backward()\n{first}{again}{DEFECT}"


def test_at_the_bound_what_differs_is_forgotten_and_the_rest_is_found() -> None:
    explorer = explored(in_loop(told_apart(12), before=made(12)))
    assert explorer.degraded
    assert not explorer.gave_up
    assert [hazard.kind for hazard in explorer.hazards] == ["clip-before-unscale"], (
        "no branch is mixed with another one"
    )


def test_below_the_bound_nothing_is_forgotten() -> None:
    explorer = explored(in_loop(told_apart(5), before=made(5)))
    assert not explorer.degraded
    assert "clip-before-unscale" in [hazard.kind for hazard in explorer.hazards]


SET = "\n".join(f"if debug_{number}:\n    option_{number} = False" for number in range(4))
CLIPS = "\n".join(f"if option_{number}:\n    clip_grad_norm_(model.parameters(), {number + 1})" for number in range(4))
CALLED_WITH_OPTIONS = f"""
import torch
from torch.nn.utils import clip_grad_norm_

def train(option_0, option_1, option_2, option_3, model, loader):
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    scaler = torch.amp.GradScaler("cuda")
    for batch in loader:
        loss = model(batch)
        scaler.scale(loss).backward()
{indent(CLIPS, " " * 8)}
        scaler.step(optimizer)
        scaler.update()

def main(option_0, option_1, option_2, option_3, model, loader):
{indent(SET, " " * 4)}
    train(option_0, option_1, option_2, option_3, model, loader)
"""


def test_states_of_calls_become_one_where_the_protocol_stands_alike(monkeypatch: pytest.MonkeyPatch) -> None:
    apart = explored(CALLED_WITH_OPTIONS, "main")
    monkeypatch.setattr("amplint.model.exploration.explorer.WORK_APART", 100)
    joined = explored(CALLED_WITH_OPTIONS, "main")
    assert joined.work < apart.work / 3
    assert (apart.degraded, joined.degraded, joined.gave_up) == (False, True, False)
    assert joined.hazards.keys() == apart.hazards.keys() != set()


def test_what_was_found_before_the_last_bound_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("amplint.model.exploration.explorer.MAX_WORK", 300)
    explorer = explored(in_loop(f"{DEFECT}\n{independent(100)}"))
    assert explorer.gave_up
    assert "clip-before-unscale" in [hazard.kind for hazard in explorer.hazards]


@pytest.mark.parametrize("count", [12, 40])
def test_passes_that_are_optional_do_not_multiply(count: int) -> None:
    """Which of them have added to the gradients makes no difference to what becomes of these."""
    options = "\n".join(
        f"if args.option_{number}:\n    scaler.scale(loss_{number}(batch)).backward()" for number in range(count)
    )
    explorer = explored(in_loop(f"{options}\n{DEFECT}"))
    assert not explorer.degraded
    assert "clip-before-unscale" in [hazard.kind for hazard in explorer.hazards]


LARGE = {
    "200 independent branches": in_loop(f"{independent(200)}\n{DEFECT}"),
    "300 statements": in_loop("\n".join(f"loss = loss + extra_{number}(batch)" for number in range(300)) + DEFECT),
    "18 nested loops": in_loop(f"{nested_loops(18)}\n{DEFECT}"),
    "500 optimizers": in_loop(
        "\n".join(f"scaler.step(optimizer_{number})" for number in range(500)) + DEFECT, before=made(500)
    ),
    "200 loops": in_loop(
        "\n".join(f"for x in parts_{number}:\n    loss = loss + model(x)" for number in range(200)) + DEFECT
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_large_functions_are_explored_in_full(name: str) -> None:
    explorer = explored(LARGE[name])
    assert not (explorer.degraded or explorer.gave_up)
    assert explorer.work < MAX_WORK / 20
    assert "clip-before-unscale" in [hazard.kind for hazard in explorer.hazards]


def test_blocks_are_numbered_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """What follows a loop is not gone through again for each loop."""
    gone: list[int] = []

    def counted(start: flow_graph.Block) -> list[flow_graph.Block]:
        found = ordered(start)
        gone.append(len(found))
        return found

    ordered = flow_graph._reverse_post_order
    monkeypatch.setattr(flow_graph, "_reverse_post_order", counted)
    loops = "\n".join(f"for x in parts_{number}:\n    loss = loss + model(x)" for number in range(50))
    work(in_loop(f"{loops}\n{DEFECT}"))
    assert sum(gone[1:]) <= gone[0]


# -- calls ---------------------------------------------------------------------------------------------------------------


def chain(length: int, times: int) -> str:
    """Functions of which each calls the next some times, and the last one clips."""
    functions = [
        f"def stage_{number}(loss):\n" + "".join(f"    stage_{number + 1}(loss)\n" for _ in range(times))
        for number in range(length)
    ]
    return "\n".join([*functions, f"def stage_{length}(loss):\n    clip_grad_norm_(model.parameters(), 1.0)\n"])


@pytest.mark.parametrize(("length", "times"), [(4, 1), (4, 3), (50, 1), (50, 2)])
def test_chains_of_calls(length: int, times: int) -> None:
    body = "scaler.scale(loss).backward()\nstage_0(loss)\nscaler.step(optimizer)\nscaler.update()"
    code = in_loop(body, before=chain(length, times))
    assert work(code) < 2_000
    assert kinds(code) == (["clip-before-unscale"] if length < 5 else []), "too deep a chain is not followed to its end"


def ladder(count: int) -> str:
    """Functions of which each calls the next two."""
    return "\n".join(
        f"def stage_{number}(loss):\n"
        + "".join(f"    stage_{below}(loss)\n" for below in range(number + 1, min(count, number + 3)))
        + "    scaler.scale(loss).backward()\n"
        for number in range(count)
    )


def test_helpers_that_call_each_other_are_worked_out_once() -> None:
    code = in_loop(f"stage_0(loss)\n{DEFECT}", before=ladder(300))
    assert work(code) < 4_000
    assert "clip-before-unscale" in kinds(code)


def test_a_helper_that_is_called_five_times_is_worked_out_once() -> None:
    helper = "def helper(loss):\n" + "".join(f"    if args.option_{n}:\n        loss = loss * {n}\n" for n in range(20))
    once, often = (
        work(in_loop("helper(loss)\n" * times + DEFECT, before=f"{helper}    scaler.scale(loss).backward()\n"))
        for times in (1, 5)
    )
    assert often < 3 * once


def test_of_scaled_passes_that_may_have_run_the_first_is_told() -> None:
    """Which of eight have run matters to nobody: told apart, they are 256 states."""
    passes = "".join(f"if args.option_{n}:\n    scaler.scale(loss).backward()\n" for n in range(8))
    assert work(in_loop(f"{passes}{DEFECT}")) < 500
    assert "clip-before-unscale" in kinds(in_loop(f"{passes}{DEFECT}"))


RECURSIVE = """
def again(loss, depth):
    if depth > 0:
        again(loss, depth - 1)
    clip_grad_norm_(model.parameters(), 1.0)

def even(loss, depth):
    odd(loss, depth - 1)

def odd(loss, depth):
    if depth:
        even(loss, depth - 1)
    else:
        clip_grad_norm_(model.parameters(), 1.0)
"""


@pytest.mark.parametrize("call", ["again(loss, 3)", "even(loss, 3)"])
def test_recursion_ends(call: str) -> None:
    code = in_loop(f"scaler.scale(loss).backward()\n{call}\nscaler.step(optimizer)\nscaler.update()", before=RECURSIVE)
    assert kinds(code) == ["clip-before-unscale"]
    assert work(code) < 2_000


# -- what the user hears ---------------------------------------------------------------------------------------------------


def test_a_function_that_is_not_told_in_full_is_named_and_counted(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(in_loop(told_apart(12), before=made(12)))
    (tmp_path / "fine.py").write_text(in_loop(DEFECT))
    command = [sys.executable, "-m", "amplint", "check", "--cache-dir", "cache"]
    for _ in range(2):  # the second time from the cache
        told = subprocess.run([*command, "--verbose"], cwd=tmp_path, capture_output=True, text=True).stderr
        (line,) = [line for line in told.splitlines() if "`train`" in line]
        assert re.match(r"train\.py:\d+: `train` has so many states that some were not told apart", line)
    counted = subprocess.run([*command, "--statistics"], cwd=tmp_path, capture_output=True, text=True).stdout
    assert "1  functions with more paths than were told apart" in counted
    as_json = subprocess.run(
        [*command, "--statistics", "--output-format", "json"], cwd=tmp_path, capture_output=True, text=True
    )
    assert [row["count"] for row in json.loads(as_json.stdout) if row["code"] is None] == [1]
