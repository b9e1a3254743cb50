"""What is not explored shows nothing: no hazard is possible in it."""

from __future__ import annotations

import pytest
from lowered import file_of

from amplint.hazards.entry_points import Entry, worth_exploring
from amplint.hazards.possible_hazards import PossibleHazards

START = """
import torch

optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

"""

PLAIN = """
def train(batches):
    for batch in batches:
        optimizer.zero_grad()
        loss = criterion(model(batch))
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
"""

SCALED_BY_A_HELPER = """
scaler = torch.amp.GradScaler("cuda")

def scaled(loss):
    return scaler.scale(loss)

def train(batches):
    for batch in batches:
        optimizer.zero_grad()
        scaled(criterion(model(batch))).backward()
        optimizer.step()
"""

BACKWARD_BY_A_HELPER = """
def back(batch):
    criterion(model(batch)).backward()

def train(batches):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            back(batch)
"""

STEPS_AFTER_THE_REGION = """
def train(batches):
    for batch in batches:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(batch))
        loss.backward()
        optimizer.step()
"""

BACKWARD_AFTER_THE_REGION = """
def train(batches):
    for batch in batches:
        with torch.autocast("cuda", dtype=torch.bfloat16):
            loss = criterion(model(batch))
        loss.backward()
"""

BACKWARD_WHERE_AUTOCAST_IS_OFF = """
def train(batches):
    for batch in batches:
        with torch.autocast("cuda", enabled=False):
            criterion(model(batch)).backward()
            optimizer.step()
"""


def entries(code: str) -> tuple[Entry, ...]:
    return file_of(START + code).analysis.entries


def train_in(code: str) -> Entry:
    return next(entry for entry in entries(code) if entry.function.key.startswith("train@"))


@pytest.mark.parametrize("code", [SCALED_BY_A_HELPER, BACKWARD_BY_A_HELPER, STEPS_AFTER_THE_REGION])
def test_a_hazard_is_possible(code: str) -> None:
    train = train_in(code)
    assert PossibleHazards(train.functions).any_in(train.function.key)


@pytest.mark.parametrize("code", [PLAIN, BACKWARD_AFTER_THE_REGION, BACKWARD_WHERE_AUTOCAST_IS_OFF])
def test_no_hazard_is_possible(code: str) -> None:
    train = train_in(code)
    assert not PossibleHazards(train.functions).any_in(train.function.key)


def test_what_shows_no_hazard_is_not_explored() -> None:
    assert [*worth_exploring(entries(SCALED_BY_A_HELPER))]
    assert not [*worth_exploring(entries(PLAIN))]


CALLED_IN_A_TRY = """
scaler = torch.amp.GradScaler("cuda")

def step(batch):
    scaler.scale(criterion(model(batch))).backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()

def run(batch):
    try:
        step(batch)
    except RuntimeError as error:
        print(error)
    finally:
        clean_up()

def each(batches):
    for batch in batches:
        run(batch)
"""


def test_what_does_nothing_but_call_is_not_explored_beside_what_it_calls() -> None:
    explored = [entry.function.key.partition("@")[0] for entry in worth_exploring(entries(CALLED_IN_A_TRY))]
    assert explored == ["step", "each"]
