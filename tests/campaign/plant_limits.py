"""Where a rule and what a program shows are known to differ, each with its reason: meant, and no disagreement.

`@silent` is for defects that a rule does not see, `@told` for findings that do not show; each function says whether a program
is one of its cases.
"""

from __future__ import annotations

import re
from collections.abc import Callable

from .limits import enclosing
from .planting import Planted

Known = Callable[[Planted], bool]
SILENT: list[Known] = []
TOLD: list[Known] = []


def silent(made: Known) -> Known:
    """File a limit of what rules see."""
    SILENT.append(made)
    return made


def told(made: Known) -> Known:
    """File a finding that does not show."""
    TOLD.append(made)
    return made


@silent
def region_handed_out(program: Planted) -> bool:
    """What a function hands out is a region where it is entered, and asked about where it is made."""
    return program.code == "AMP403" and re.search(r"return torch\.(amp\.)?autocast\(", program.text) is not None


@silent
def region_off_for_good(program: Planted) -> bool:
    """A file that names a region may switch it on elsewhere, also where all that it names are off."""
    regions = re.findall(r"autocast\([^)]*\)", program.text)
    return program.code == "AMP124" and bool(regions) and all("enabled=False" in each for each in regions)


@silent
def scaler_in_an_object(program: Planted) -> bool:
    """The scaler of another object is not known to be one where it is only asked for its scale, or handed on."""
    asked = r"self\.loss_scaler\.scaler\.get_scale\(\)|spawn\(.*loss_scaler\.scaler"
    return program.code in ("AMP115", "AMP122") and re.search(asked, program.text) is not None


@silent
def scaler_of_bfloat16(program: Planted) -> bool:
    """Of a scaler that scales nothing but bfloat16 AMP118 says that it is not needed: its state is none to keep."""
    computed = frozenset(re.findall(r"torch\.(b?float16)", program.text))
    return program.code == "AMP114" and computed == {"bfloat16"}


@silent
def update_elsewhere(program: Planted) -> bool:
    """Two readings of the scale are only compared to ask for a skipped step if an update stands between them in view."""
    between = re.search(r"scale_before = .*?\bif [^\n]*scale_before", program.text, re.DOTALL)
    return program.code == "AMP122" and between is not None and ".update()" not in between[0]


@silent
def region_with_a_flag(program: Planted) -> bool:
    """A region that a flag switches is not sure to be entered, nor to be left out: an evaluation without is like the training,
    and no precision is said of one that is chosen beside a context that does nothing."""
    if program.code == "AMP203":
        return (
            "amp" in program.flags
            and re.search(r"autocast\(.*\) if .*\bamp else .*nullcontext", program.text) is not None
        )
    return program.code == "AMP202" and "amp" in program.flags


@silent
def forward_in_a_function(program: Planted) -> bool:
    """A pass in a decorated function is of the function's own model: another name than that of the model it is given."""
    return program.code in ("AMP202", "AMP203", "AMP404") and "def compute_0(" in program.text


@silent
def loss_handed_over(program: Planted) -> bool:
    """Where the loss is handed to a function or an object that propagates it, it is not known where it was computed."""
    handed = r"^ +[\w.]*(do_\d|loss_scaler)\(.*\bloss"
    return program.code in ("AMP124", "AMP210") and re.search(handed, program.text, re.MULTILINE) is not None


@silent
def named_result(program: Planted) -> bool:
    """The parts of what `max(dim=...)` gives back are of unknown dtype."""
    return program.code == "AMP302" and ".values + " in program.text


@silent
def name_that_says_little(program: Planted) -> bool:
    """A parameter called `amp` may be a dtype as well as a flag: nothing is said of where it lands."""
    return program.code == "AMP213" and 'autocast("cuda", amp)' in program.text


@silent
def any_question(program: Planted) -> bool:
    """Whoever asks whether losses are finite, at some place and in some way, is taken to know what to do about it."""
    return program.code in ("AMP112", "AMP307") and re.search(r"isfinite|isnan", program.text) is not None


@told
def backward_under_autocast(program: Planted) -> bool:
    """A backward pass inside of the region finds its dtypes cast once more, so that a custom function does not fail there."""
    rows = [row for row, line in enumerate(program.text.splitlines(), 1) if ".backward()" in line]
    inside = [
        re.search(r"^with .*(autocast|context|precision)", enclosing(program.text, row), re.MULTILINE) for row in rows
    ]
    return program.code == "AMP208" and any(inside)
