"""No fix leaves a name unbound: what the fixer asks of every round, and what rules ask of a place."""

from __future__ import annotations

import json
import re
import subprocess
from collections import Counter
from pathlib import Path

import pytest
from checkout import ROOT
from forked import forked_amplint
from test_fixer import both, finding, replacing, text

from amplint.diagnostics import FileReport
from amplint.engine.fixed_text import apply
from amplint.engine.fixer import fix_source
from amplint.python_ast.definite_assignment import Assigned, newly_unbound
from amplint.python_ast.gate import parse
from amplint.source import Source


def amplint(*arguments: str, cwd: Path) -> subprocess.CompletedProcess[str]:
    return forked_amplint("--isolated", "--no-cache", *arguments, cwd=cwd)


def fixture(shape: str) -> str:
    return (ROOT / "fixtures" / "amp202_eval_without_autocast" / f"flagged_{shape}.py").read_text(encoding="utf-8")


def unbound(code: str) -> set[tuple[str, str]]:
    return {(use.scope, use.name) for use in Assigned(parse(code)).unbound}


# -- which names are bound ------------------------------------------------------------------------------------------------


def test_an_annotation_that_python_cannot_parse_names_nothing() -> None:
    assert unbound(f"x: '{'a ' * 150_000}' = 1\n") == set()


@pytest.mark.parametrize(
    "code",
    [
        "import a.b\na.b.c\n",
        "def f(a, /, b, *c, d=1, **e):\n    return a, b, c, d, e\n",
        "if x():\n    a = 1\nelse:\n    a = 2\na\ndef x(): ...\n",
        "def f():\n    return later\nlater = 1\n",
        "[a for b in range(3) for a in range(b) if a]\n",
        "def f():\n    if (a := 1) > 2:\n        return a\n    return a\n",
        "def f():\n    while True:\n        a = 1\n        break\n    return a\n",
        "def f(x):\n    if x:\n        a = 1\n    else:\n        raise ValueError\n    return a\n",
        "def f():\n    try:\n        a = 1\n    except OSError as error:\n        print(error)\n        return\n    return a\n",
        "def f(x):\n    try:\n        pass\n    finally:\n        a = 1\n    return a\n",
        "def f(x):\n    match x:\n        case [a, *b]:\n            a, e = b\n"
        "        case {'k': c, **d}:\n            e = c, d\n"
        "        case _:\n            e = 1\n    return e\n",
        "class A:\n    b = 1\n    c = b\n    def d(self):\n        return __class__, A\n",
        "def f():\n    global g\n    g = 1\ndef h():\n    return g\n",
        "def f():\n    a = 1\n    def g():\n        nonlocal a\n        a += 1\n        return lambda: a\n    return g\n",
        "import torch\nfrom typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import numpy\ndef f(a: 'numpy.ndarray'): ...\n",
        "__all__ = ['f']\ndef f(): ...\n",
        "with open(__file__) as (a, b):\n    a, b\n",
        "async def f(x):\n    async with x as y:\n        async for z in y:\n            await z\n",
    ],
)
def test_bound_names(code: str) -> None:
    code = code.replace("if x():\n    a = 1\nelse", "import x\nif x():\n    a = 1\nelse")
    assert unbound(code) == set()


@pytest.mark.parametrize(
    ("code", "uses"),
    [
        ("a\na = 1\n", {("", "a")}),
        ("def f(x):\n    if x:\n        a = 1\n    else:\n        return a\n", {("f", "a")}),
        ("def f(x):\n    for a in x:\n        pass\n    return a\n", {("f", "a")}),
        ("def f():\n    a = 1\n    del a\n    return a\n", {("f", "a")}),
        ("class A:\n    b = 1\n    def c(self):\n        return b\n", {("A.c", "b")}),
        ("[a for a in range(3)]\na\n", {("", "a")}),
        ("def f(a: 'List[int]') -> b: ...\n", {("", "List"), ("", "b")}),
        ("__all__ = ['gone']\n", {("", "gone")}),
        ("try:\n    1\nexcept ValueError as error:\n    pass\nerror\n", {("", "error")}),
        ("from typing import TYPE_CHECKING\nif TYPE_CHECKING:\n    import a\ndef f():\n    return a.b\n", {("f", "a")}),
        ("from a import *\nb\ndef f(x):\n    if x:\n        c = 1\n    return c\n", {("f", "c")}),
    ],
)
def test_unbound_names(code: str, uses: set[tuple[str, str]]) -> None:
    assert unbound(code) == uses


def test_only_what_is_new_counts() -> None:
    assert newly_unbound("f(a)\n", "f(a, a)\n") == []
    assert newly_unbound("import a\na\n", "a\n") == ["a"]
    assert newly_unbound("from a import *\nb()\n", "b()\n") == ["b"]
    assert newly_unbound("from a import *\nb()\n", "from a import *\nc()\n") == []
    # A notebook gets names from magics, and awaits where it likes.
    assert newly_unbound("# %run setup.py\nawait train(model)\n", "# %run setup.py\nawait train(model, scaler)\n") == []
    assert newly_unbound("s = 1\nawait f(model, s)\n", "await f(model, s)\n") == ["s"]
    assert newly_unbound("not python (\n", "x\n") == []


# -- the fixer ------------------------------------------------------------------------------------------------------------


def test_a_fix_that_leaves_a_name_unbound_is_left_out_and_named() -> None:
    source = text("import old\n\nold.f(1)\n")
    lint = both(replacing("GOOD", r"f\(1\)", "f(2)"), replacing("BAD", r"import old\n", ""))
    outcome = fix_source(source, lint, False)
    assert outcome.text == "import old\n\nold.f(2)\n"
    assert outcome.error == "a fix of BAD would leave `old` unbound and was left out"
    assert [each.code for each in outcome.report.diagnostics] == ["BAD"]


@pytest.mark.parametrize(
    "header",
    ["import old", "from old import old", "from m import (\n    old,\n)", "import m as old", "old = 1"],
)
def test_a_fix_that_mentions_a_name_waits_for_one_that_removes_its_binding(header: str) -> None:
    source = text(f"{header}\nold\nnew = f = 1\n")
    removal = finding(source, "A", [(0, len(header) + 1, ""), (len(header) + 1, len(header) + 4, "None")])
    end = len(source.text) - 1
    copy = finding(source, "B", [(end, end, "; f(old)")])
    assert apply(source, [removal, copy])[1] == [removal]
    assert apply(source, [copy, removal])[1] == [copy]
    for harmless in ("; f(new.old)", "; f('old')", "; f(older)  # old"):
        other = finding(source, "B", [(end, end, harmless)])
        assert apply(source, [removal, other])[1] == [removal, other]


def test_a_fix_that_does_not_see_what_it_has_done_is_applied_once() -> None:
    def lint(now: Source) -> FileReport:
        end = now.text.index(":")
        return FileReport("f", (finding(now, "A", [(end, end, ", region()")]),))

    outcome = fix_source(text("with x():\n    pass\n"), lint, False)
    assert (outcome.text, outcome.applied) == ("with x(), region():\n    pass\n", Counter(A=1))
    assert outcome.error == "a fix of A would do again what stands there already and was left out"


def test_what_was_left_out_is_never_summed_up_as_no_findings(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(fixture("context_of_other_branch"))
    result = amplint("train.py", "--select", "AMP202", "--fix", "--unsafe-fixes", cwd=tmp_path)
    assert "AMP202" in result.stdout and "No findings" not in result.stderr


def test_a_moved_import_and_a_copied_name_in_one_round(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(fixture("deprecated_import"))
    result = amplint("train.py", "--select", "ALL", "--fix", "--unsafe-fixes", cwd=tmp_path)
    fixed = (tmp_path / "train.py").read_text()
    assert result.stderr == "Fixed 3 findings in 1 file\nNo findings remain in 1 file\n"
    assert 'with torch.no_grad(), torch.amp.autocast("cuda"):\n' in fixed
    assert not re.search(r"import .*autocast|GradScaler\(\)", fixed)


def test_the_same_in_a_notebook(tmp_path: Path) -> None:
    code = fixture("deprecated_import")
    cells: list[dict[str, object]] = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": source.splitlines(True)}
        for source in ("%matplotlib inline\nresult = await setup()\n", code, "!ls\nevaluate(model, loader)\n")
    ]
    notebook = {"cells": cells, "metadata": {"language_info": {"name": "python"}}, "nbformat": 4, "nbformat_minor": 5}
    (tmp_path / "train.ipynb").write_text(json.dumps(notebook, indent=1))
    result = amplint("train.ipynb", "--select", "ALL", "--fix", "--unsafe-fixes", cwd=tmp_path)
    fixed = (tmp_path / "train.ipynb").read_text()
    assert "was left out" not in result.stderr
    assert 'with torch.no_grad(), torch.amp.autocast(\\"cuda\\"):' in fixed
    assert "import autocast" not in fixed and "%matplotlib inline" in fixed
