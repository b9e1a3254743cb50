"""Paths: which orders of events are feasible. Each program is marked (`#! kind`) where it is wrong on one of them."""

from __future__ import annotations

import pytest
from lowered import found, in_loop, kinds, marked

CORRELATED = {
    "a step behind a loop of further steps is for no rest of them where it has a pass of its own": """
        for _ in range(args.repeats):
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
        scaler.scale(criterion(model(batch))).backward()
        scaler.step(optimizer)
        scaler.update()
        scheduler.step()  #! scheduler-not-gated
    """,
    "a small batch tells nothing of a step": """
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if batch.shape[0] < args.size or batch.size(1) != 3:
            continue
        scheduler.step()  #! scheduler-not-gated
    """,
    "a norm that is NaN tells of a step": """
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        norm = clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
        if norm != norm:
            continue
        scheduler.step()
    """,
    "the same flag": """
        if args.amp:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
        else:
            loss.backward()
        clip_grad_norm_(model.parameters(), 1.0)
        if args.amp:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
    """,
    "the flag and its negation": """
        if not args.amp:
            loss.backward()
        else:
            scaler.scale(loss).backward()
        if args.amp:
            scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        if not args.amp:
            optimizer.step()
        else:
            scaler.step(optimizer)
            scaler.update()
    """,
    "different words for the mode": """
        scaled = args.use_amp and scaler is not None
        if scaler is not None:
            scaler.scale(loss).backward()
        else:
            loss.backward()
        if args.use_amp:
            scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        if scaler:
            scaler.step(optimizer)
            scaler.update()
        else:
            optimizer.step()
    """,
    "a clip under one condition, unscaled under the same": """
        scaler.scale(loss).backward()
        if args.clip > 0:
            scaler.unscale_(optimizer)
        log(step)
        if args.clip > 0:
            clip_grad_norm_(model.parameters(), args.clip)
        scaler.step(optimizer)
        scaler.update()
    """,
    "a conjunction holds both": """
        scaler.scale(loss).backward()
        if args.clip and args.late:
            scaler.unscale_(optimizer)
        if args.clip and args.late:
            clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    """,
    "another condition": """
        scaler.scale(loss).backward()
        if args.careful:
            scaler.unscale_(optimizer)
        if args.clip:
            clip_grad_norm_(model.parameters(), 1.0)  #! clip-before-unscale
        scaler.step(optimizer)
        scaler.update()
    """,
    "the same condition on another value": """
        scaler.scale(loss).backward()
        if args.clip == 1:
            scaler.unscale_(optimizer)
        if args.clip == 2:
            clip_grad_norm_(model.parameters(), 1.0)  #! clip-before-unscale
        scaler.step(optimizer)
        scaler.update()
    """,
    "forgotten after assignment": """
        scaler.scale(loss).backward()
        ready = step % 4 == 0
        if ready:
            scaler.unscale_(optimizer)
        ready = step % 2 == 0
        if ready:
            clip_grad_norm_(model.parameters(), 1.0)  #! clip-before-unscale
        scaler.step(optimizer)
        scaler.update()
    """,
    "the iteration decides anew": """
        scaler.scale(loss).backward()
        if (step + 1) % 4 == 0:
            scaler.unscale_(optimizer)
            clip_grad_norm_(model.parameters(), 1.0)
        if (step + 1) % 4 == 0:
            scaler.step(optimizer)
            scaler.update()
    """,
    "elif": """
        scaler.scale(loss).backward()
        if args.mode == "a":
            scaler.unscale_(optimizer)
        elif args.mode == "b":
            clip_grad_norm_(model.parameters(), 1.0)  #! clip-before-unscale
        scaler.step(optimizer)
        scaler.update()
    """,
    "match": """
        match args.mode:
            case "plain":
                pass
            case _:
                scaler.unscale_(optimizer)
        scaler.scale(loss).backward()
        match args.mode:
            case "plain":
                clip_grad_norm_(model.parameters(), 1.0)  #! clip-before-unscale
            case _:
                scaler.unscale_(optimizer)  #! repeated-unscale
                clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    """,
    "a conditional expression": """
        loss = scaler.scale(loss) if args.amp else loss
        loss.backward()
        if args.amp:
            scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer) if args.amp else optimizer.step()
        scaler.update()
    """,
}

LEAVING = {
    "continue": """
        scaler.scale(loss).backward()
        if step % 4:
            continue
        clip_grad_norm_(model.parameters(), 1.0)  #! clip-before-unscale
        scaler.step(optimizer)
        scaler.update()
    """,
    "unscaled on the way that stays": """
        scaler.scale(loss).backward()
        if not args.unscale:
            continue
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    """,
    "a path that leaves clips nothing": """
        scaler.scale(loss).backward()
        if args.skip_unscale:
            return
        else:
            scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    """,
    "raise": """
        if args.amp_level:
            scaler.scale(loss).backward()
            raise RuntimeError
        loss.backward()
        optimizer.step()
    """,
    "exit": """
        scaler.scale(loss).backward()
        if not torch.isfinite(loss):
            print("stopping")
            sys.exit(1)
        scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    """,
    "break before the update": """
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        if step > args.most:
            break
        scaler.update()
    """,
    "continue before the update": """
        scaler.scale(loss).backward()
        scaler.step(optimizer)  #! missing-update
        if step < args.least:
            continue
        scaler.update()
    """,
    "AMP returns, the plain path follows": """
        if args.amp:
            scaler.scale(loss).backward()
            scaler.step(optimizer)
            scaler.update()
            continue
        loss.backward()
        optimizer.step()
    """,
}

TRIED = {
    "a handler takes over": """
        scaler.scale(loss).backward()
        try:
            scaler.unscale_(optimizer)
        except ValueError:
            log("half gradients")
        clip_grad_norm_(model.parameters(), 1.0)  #! clip-before-unscale
        scaler.step(optimizer)
        scaler.update()
    """,
    "a handler of what unscale_ raises where somebody else has unscaled": """
        scaler.scale(loss).backward()
        try:
            scaler.unscale_(optimizer)
        except RuntimeError:
            log("again")
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    """,
    "a handler that goes on with the next batch": """
        scaler.scale(loss).backward()
        try:
            scaler.unscale_(optimizer)
        except RuntimeError:
            continue
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    """,
    "finally": """
        scaler.scale(loss).backward()
        try:
            check(loss)
        finally:
            scaler.unscale_(optimizer)
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    """,
    "finally on the way out": """
        scaler.scale(loss).backward()
        try:
            if step > 3:
                continue
            scaler.step(optimizer)
        finally:
            scaler.update()  #! update-in-accumulation
    """,
    "else": """
        try:
            scaler.scale(loss).backward()
        except RuntimeError:
            continue
        else:
            clip_grad_norm_(model.parameters(), 1.0)  #! clip-before-unscale
        scaler.step(optimizer)
        scaler.update()
    """,
    "what fails behind `finally`": """
        try:
            try:
                scaler.scale(loss).backward()
                scaler.scale(model(batch).mean()).backward()
            finally:
                log("tried")
        except RuntimeError:
            clip_grad_norm_(model.parameters(), 1.0)  #! clip-before-unscale
        scaler.unscale_(optimizer)
        scaler.step(optimizer)
        scaler.update()
    """,
    "`finally` that unscales, before a handler": """
        try:
            try:
                scaler.scale(loss).backward()
                scaler.scale(model(batch).mean()).backward()
            finally:
                scaler.unscale_(optimizer)
        except RuntimeError:
            log("again")
        clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
    """,
    "what fails between `unscale_` and `update`": """
        try:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            norm = measure(model)
            scaler.step(optimizer)
            loss = loss / 2
            scaler.update()
        except RuntimeError:
            continue
    """,
    "what raises between `unscale_` and `update`": """
        try:
            scaler.scale(loss).backward()
            scaler.unscale_(optimizer)
            if norm.isnan():
                raise ValueError
            scaler.step(optimizer)
            scaler.update()
        except ValueError:
            optimizer.zero_grad()
            continue  #! exit-between-unscale-and-update
    """,
}
CALLED = {
    "fails behind the backward pass": """
        scaler.scale(loss).backward()
        scaler.scale(model(batch).mean()).backward()
        scaler.unscale_(optimizer)
    """,
    "fails in a function that it calls": """
        deeper(loss, batch)
        scaler.unscale_(optimizer)
    """,
    "raises behind the backward pass": """
        scaler.scale(loss).backward()
        if batch.bad:
            raise RuntimeError
        scaler.unscale_(optimizer)
    """,
}
_CALLER = """
try:
    helper(loss, batch)
except RuntimeError:
    clip_grad_norm_(model.parameters(), 1.0)  #! clip-before-unscale
    continue
clip_grad_norm_(model.parameters(), 1.0)
scaler.step(optimizer)
scaler.update()
"""
_DEEPER = """
def deeper(loss, batch):
    scaler.scale(loss).backward()
    scaler.scale(model(batch).mean()).backward()
"""


def _far_apart(first: str, again: str) -> str:
    """Two branches, between them so many others that the states of the paths are joined."""
    others = "\n".join(f"if step % {number} == 0:\n    loss = loss + extra_{number}(batch)" for number in range(7, 12))
    return (
        f"scaler.scale(loss).backward()\nif {first}:\n    scaler.unscale_(optimizer)\n{others}\n{others}\n"
        f"if {again}:\n    scaler.step(optimizer)\n    scaler.update()\n"
    )


_LAST = "(step + 1) % 4 == 0 or step + 1 == len(loader)"
_OF_A_FLAG = f"args.accumulate and ({_LAST})"
WHOLES = {
    "the same words": (_LAST, _LAST),
    "the negation of the negation": (_LAST, "not ((step + 1) % 4 != 0 and step + 1 != len(loader))"),
    "one inside another": (_OF_A_FLAG, _OF_A_FLAG),
    "a flag or a moment": ("args.always or step % 4 == 0", "args.always or step % 4 == 0"),
}
DIFFERENT = {
    "two parts of one": ("(step + 1) % 4 == 0", "step + 1 == len(loader)"),
    "all and any": (_LAST, "(step + 1) % 4 == 0 and step + 1 == len(loader)"),
    "another number": (_LAST, "(step + 1) % 8 == 0 or step + 1 == len(loader)"),
}

PROGRAMS = {
    f"{family}: {name}": in_loop(body)
    for family, bodies in {"correlated": CORRELATED, "leaving": LEAVING, "try": TRIED}.items()
    for name, body in bodies.items()
} | {
    f"called in `try`: {name}": in_loop(_CALLER, before=f"{_DEEPER}\ndef helper(loss, batch):{body}")
    for name, body in CALLED.items()
}


@pytest.mark.parametrize("program", PROGRAMS.values(), ids=PROGRAMS.keys())
def test_feasible_paths(program: str) -> None:
    assert found(program) == marked(program)


@pytest.mark.parametrize(("first", "again"), WHOLES.values(), ids=WHOLES.keys())
def test_a_condition_keeps_its_truth_where_that_of_its_parts_is_lost(first: str, again: str) -> None:
    assert kinds(in_loop(_far_apart(first, again))) == []


@pytest.mark.parametrize(("first", "again"), DIFFERENT.values(), ids=DIFFERENT.keys())
def test_other_conditions_of_the_same_parts_go_their_own_ways(first: str, again: str) -> None:
    assert kinds(in_loop(_far_apart(first, again))) == ["repeated-unscale"]


def test_a_condition_is_asked_anew_once_a_part_of_it_is_assigned() -> None:
    program = _far_apart(_LAST, _LAST).replace("if step % 7 == 0:", "step = limit(step)\nif step % 7 == 0:", 1)
    assert kinds(in_loop(program)) == ["repeated-unscale"]


@pytest.mark.parametrize(
    ("condition", "reported"),
    [("not batch.is_last_batch", 1), ("batch.is_last_batch", 0), ("step + 1 == len(loader)", 0)],
)
def test_a_schedule_beside_the_last_batch(condition: str, reported: int) -> None:
    code = in_loop(f"""
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
        if {condition}:
            scheduler.step()
    """)
    assert len(kinds(code)) == reported
