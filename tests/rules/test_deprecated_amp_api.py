"""What fixtures cannot say about AMP209: it depends on the version targeted, and on what the file is called."""

from __future__ import annotations

from amplint.engine.fixer import fix_source
from amplint.engine.linter import lint_source
from amplint.engine.registry import load_rules
from amplint.source import Source

RULES = [rule for rule in load_rules() if rule.code == "AMP209"]

FUNCTION = """\
import torch
from torch.autograd import Function
from torch.cuda.amp import custom_bwd, custom_fwd


class Scale(Function):
    @staticmethod
    @custom_fwd(cast_inputs=torch.float32)
    def forward(ctx, values, factor):
        ctx.factor = factor
        return values * factor

    @staticmethod
    @custom_bwd
    def backward(ctx, gradient):
        return gradient * ctx.factor, None


class Twice(Function):
    def forward(ctx, values):
        return values * 2

    forward = staticmethod(custom_fwd(forward))
"""


def fixed(text: str, torch: tuple[int, int]) -> str:
    return fix_source(Source("train.py", text), lambda source: lint_source(source, RULES, torch), unsafe=True).text


def rows(text: str, torch: tuple[int, int], path: str = "train.py") -> list[int]:
    return [each.range.start.row for each in lint_source(Source(path, text), RULES, torch).diagnostics]


def test_custom_functions_get_the_keyword() -> None:
    assert fixed(FUNCTION, (2, 4)) == (
        FUNCTION.replace("from torch.cuda.amp import custom_bwd, custom_fwd\n", "")
        .replace("@custom_fwd(", '@torch.amp.custom_fwd(device_type="cuda", ')
        .replace("@custom_bwd", '@torch.amp.custom_bwd(device_type="cuda")')
        .replace("staticmethod(custom_fwd(forward))", 'staticmethod(torch.amp.custom_fwd(forward, device_type="cuda"))')
    )


def test_nothing_is_deprecated_before_it_has_a_replacement() -> None:
    assert rows(FUNCTION, (2, 4)) == [8, 14, 23]
    assert rows(FUNCTION, (2, 3)) == []
    uses = "import torch\nscaler = torch.cuda.amp.GradScaler()\nregion = torch.cuda.amp.autocast()\n"
    assert rows(uses, (2, 3)) == [2, 3]
    assert rows(uses, (2, 2)) == [3]


def test_imports_of_a_package_are_its_interface() -> None:
    text = "from torch.cuda.amp import autocast\n\n\ndef version():\n    return 1\n"
    for path in ("train.py", "amp/__init__.py"):
        [finding] = lint_source(Source(path, text), RULES, (2, 3)).diagnostics
        assert (finding.fix is None) is path.endswith("__init__.py")


def test_a_module_that_only_binds_names_keeps_them() -> None:
    [finding] = lint_source(Source("compat.py", "from torch.cuda.amp import autocast\n"), RULES, (2, 3)).diagnostics
    assert finding.fix is None


def test_a_name_that_is_exported_stays_imported() -> None:
    text = (
        'import torch\nfrom torch.cuda.amp import autocast\n\n__all__ = ["autocast", "run"]\n\n\n'
        "def run(x):\n    with autocast():\n        return x\n"
    )
    assert fixed(text, (2, 3)) == text.replace("with autocast():", 'with torch.amp.autocast("cuda"):')


PLACES = """\
from torch.cuda.amp import GradScaler, autocast, custom_bwd, custom_fwd
import torch


class Kept(GradScaler):
    pass


def enter(kind=autocast, scaler: GradScaler = None):
    if isinstance(scaler, GradScaler):
        return autocast()
    with kind():
        return GradScaler()


@autocast()
def forward(x):
    return x


@custom_fwd
def first(ctx, x):
    return x


twice = custom_bwd
"""


def test_a_note_says_that_it_warns_where_it_does() -> None:
    found = lint_source(Source("train.py", PLACES), RULES, (2, 4)).diagnostics
    notes = {(each.range.start.row, each.note.partition(";")[0]) for each in found}
    constructed, decorates = (
        "PyTorch warns at each construction, not here",
        "PyTorch warns when it decorates a function, not here",
    )
    assert {row for row, note in notes if note == "every construction warns"} == {11, 13, 16}
    assert {row for row, note in notes if note == constructed} >= {5, 9}
    assert {row for row, note in notes if note == "every decoration warns"} == {21}
    assert {row for row, note in notes if note == decorates} == {26}


def test_an_import_that_a_try_makes_first_warns_of_nothing() -> None:
    tried = "try:\n    from torch.cuda.amp import autocast\nexcept ImportError:\n    autocast = None\n"
    text = f"{tried}\nwith autocast():\n    pass\n"
    [found] = lint_source(Source("train.py", text), RULES, (2, 4)).diagnostics
    assert found.range.start.row == 2
    assert "not here" in found.note


def test_a_module_is_not_said_to_be_deprecated_itself() -> None:
    [found] = lint_source(
        Source("train.py", "from torch.cuda import amp as cuda_amp\n\ndef f(autocast):\n    return autocast\n"),
        RULES,
        (2, 4),
    ).diagnostics
    assert found.message == "What `torch.cuda.amp` offers is deprecated since PyTorch 2.4"
