"""Notebooks: cells as one module, and back without moving a byte elsewhere."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from notebook_harness import (
    SETUP,
    TRAIN,
    TWO_CELLS,
    NotebookFixture,
    all_notebooks,
    amplint,
    cell,
    fixed,
    notebook,
    read,
)

from amplint.cli.main import main
from amplint.diagnostics import FileReport
from amplint.engine.checker import check_bytes
from amplint.engine.config import Settings
from amplint.notebook import CellsCrossed, Notebook, NotebookError


def check(root: Path, text: str) -> FileReport:
    return check_bytes("nb.ipynb", text.encode(), Settings(root), root / "nb.ipynb")


def test_cells_are_one_module_and_findings_name_cell_and_line(tmp_path: Path) -> None:
    (found,) = check(tmp_path, TWO_CELLS).diagnostics
    assert found.code == "AMP101"
    assert str(found.range.start) == "cell 4:6:5"


@pytest.mark.parametrize(
    "dumping",
    [
        {}, {"indent": 4}, {"indent": None}, {"indent": 2, "ensure_ascii": True}, {"indent": "\t"},
        {"indent": None, "separators": (",", ":")},
    ],
)  # fmt: skip
@pytest.mark.parametrize("whole", [False, True])
def test_a_fix_changes_the_lines_it_means_and_no_other_byte(
    tmp_path: Path, dumping: dict[str, Any], whole: bool
) -> None:
    before = [cell("# Title ü", "markdown"), cell(SETUP), cell(TRAIN, whole=whole)]
    repaired = TRAIN.replace("    torch.nn", "    scaler.unscale_(optimizer)\n    torch.nn")
    after = [*before[:2], cell(repaired, whole=whole)]
    assert fixed(tmp_path, notebook(*before, **dumping)) == notebook(*after, **dumping)


def test_odd_layout_stays(tmp_path: Path) -> None:
    odd = TWO_CELLS.replace('"metadata": {},', '"metadata":{  },').replace('"loss 1e5\\n"', '"loss \\u0031e5\\n"')
    odd = odd.replace('"    optimizer.zero_grad()\\n"', '"\\u0020   optimizer.zero_grad()\\n"').replace("\n", "\r\n")
    expected = odd.replace('"    torch.nn', '"    scaler.unscale_(optimizer)\\n",\r\n    "    torch.nn')
    assert fixed(tmp_path, odd.rstrip("\r\n")) == expected.rstrip("\r\n")


def test_a_second_run_changes_nothing(tmp_path: Path) -> None:
    once = fixed(tmp_path, TWO_CELLS)
    assert once != TWO_CELLS
    assert fixed(tmp_path, once) == once


@pytest.mark.parametrize(
    "source",
    [
        "%%bash\nfor x in *; do echo $x; done", "%%writefile train.py\nimport torch\n", "%%html\n<b>",
        "%time\nx = 1", "%%time\nx = 1", "if True:\n    !ls\n", "!pip install a \\\n   b \\\n  c", "x = %timeit -o f()",
        "x?", "?x", "!ls", "a, b = !ls", "text = '''\n% no magic\n'''", "x = (7\n  % 2)", "", "\n\n", "await f()",
        "%cd ..", "!ls\nfor x in y:  # why?\n    pass", "!ls\nx = (7\n  % 2)\ny = [1,  # one?\n 2]", "%time x = 1",
        "!ls\nt = \'\'\'\n! no shell\n% no magic, \"\n\'\'\'", "%ls\nx = 7 \\\n  % 2", "%time for x in y: pass", "!ls\nx[0].y??",
        "%sql\nSELECT a FROM b WHERE c > 'd'", "%md\n# It's prose", "%sh ls", "%%time\n!ls\nx = {'a': ['(', \"'\"]}\n!ls",
        "cd ..", "\nls /content/checkpoints/\n", "pip install a b",
        "!echo it's \\\n fine\nx = 1", "    x = 1\n    y = x\n", "\n# why\n\tx = 1\n\n\t!ls", "    %%time\n    x = 1",
    ],
)  # fmt: skip
def test_what_only_ipython_understands_is_no_syntax_error(tmp_path: Path, source: str) -> None:
    text = notebook(cell(source), cell(SETUP), cell(TRAIN))
    report = check(tmp_path, text)
    assert [each.code for each in report.diagnostics] == ["AMP101"]
    assert fixed(tmp_path, text).count("unscale_") == 1


def test_cells_in_other_languages_are_left_alone(tmp_path: Path) -> None:
    assert not check(tmp_path, notebook(cell(SETUP), cell(TRAIN), language="R")).diagnostics
    marked = notebook(cell(SETUP), cell(TRAIN, vscode={"languageId": "julia"}))
    assert not check(tmp_path, marked).diagnostics


@pytest.mark.parametrize(
    "text", ["", "{", "[]", '{"cells": 3}', '{"worksheets": []} GradScaler', "[" * 100_000, "null"]
)
def test_an_invalid_notebook_is_a_finding(tmp_path: Path, text: str) -> None:
    report = check_bytes("nb.ipynb", text.encode(), Settings(tmp_path), tmp_path / "nb.ipynb", explicit=True)
    assert [each.code for each in report.diagnostics] == ["AMP900"]
    assert str(report.diagnostics[0].range.start) == "cell 1:1:1"


@pytest.mark.parametrize("text", ['{"cells": []}', '{"cells": [{}, 3, {"cell_type": "code", "source": 3}]}'])
def test_a_notebook_without_code_is_clean(tmp_path: Path, text: str) -> None:
    assert not check(tmp_path, text + "\n").diagnostics


@pytest.mark.parametrize("source", ["cd ..\nls a b", "x = 1\ncd ..", "gibberish a b"])
def test_ipython_guesses_no_magic_in_several_lines_or_unknown_words(tmp_path: Path, source: str) -> None:
    assert [each.code for each in check(tmp_path, notebook(cell(source), cell(SETUP), cell(TRAIN))).diagnostics] == [
        "AMP900"
    ]


def test_a_syntax_error_names_its_cell(tmp_path: Path) -> None:
    (found,) = check(tmp_path, notebook(cell("x = 1\n"), cell("scaler = GradScaler(\n"))).diagnostics
    assert (found.code, found.range.start.cell) == ("AMP900", 2)


def test_suppression_comments_hold(tmp_path: Path) -> None:
    quiet = TRAIN.replace("# é", "# noqa: AMP101")
    assert not check(tmp_path, notebook(cell(SETUP), cell(quiet))).diagnostics


def test_python_behind_magics_is_read(tmp_path: Path) -> None:
    assert [one.code for one in check(tmp_path, notebook(cell(SETUP), cell(f"%%wandb\n{TRAIN}"))).diagnostics] == [
        "AMP101"
    ]
    timed = TRAIN.replace("torch.nn", "%time torch.nn")
    (found,) = check(tmp_path, notebook(cell(SETUP), cell(timed))).diagnostics
    assert str(found.range.start) == "cell 2:6:11"
    assert found.fix is None  # the magic keeps its line


def test_ipython_does_not_mind_an_indent(tmp_path: Path) -> None:
    def indented(text: str) -> str:
        return "".join(f"    {line}" for line in text.splitlines(keepends=True))

    before = notebook(cell(SETUP), cell("x = 1"), cell(indented(TRAIN)), cell("y = 2"))
    (found,) = check(tmp_path, before).diagnostics
    assert str(found.range.start) == "cell 3:6:9"
    repaired = indented(TRAIN.replace("    torch.nn", "    scaler.unscale_(optimizer)\n    torch.nn"))
    assert fixed(tmp_path, before) == notebook(cell(SETUP), cell("x = 1"), cell(repaired), cell("y = 2"))


INSIDE = """\
for data, target in loader:
    optimizer.zero_grad()
    with torch.autocast("cuda", dtype=torch.float16):
        loss = criterion(model(data), target)
        scaler.scale(loss).backward()
        !nvidia-smi
        scaler.step(optimizer)
    scaler.update()
"""


@pytest.mark.parametrize("before", ["x = 1", "await f()", "from __future__ import annotations"])
def test_a_fix_that_would_move_a_line_for_ipython_is_left_out(tmp_path: Path, before: str) -> None:
    path = tmp_path / "nb.ipynb"
    path.write_text(notebook(cell(SETUP), cell(before), cell(INSIDE)), newline="")
    run = CliRunner().invoke(main, ["check", "--fix", "--isolated", "--no-cache", str(path)], catch_exceptions=False)
    assert run.exit_code == 1 and "AMP201" in run.stdout and "left out" in run.stderr
    assert path.read_text() == notebook(cell(SETUP), cell(before), cell(INSIDE))


def test_a_cell_may_become_empty(tmp_path: Path) -> None:
    cells = cell("import torch"), cell("from torch.cuda.amp import GradScaler"), cell("scaler = GradScaler()")
    after = cells[0], cell(""), cell('scaler = torch.amp.GradScaler("cuda")')
    assert fixed(tmp_path, notebook(*cells)) == notebook(*after)


@pytest.mark.parametrize("source", ["if True:", "if True:\n\n", "x = 1 + \\", "@decorated"])
def test_an_error_at_the_end_of_a_cell_lies_in_it(tmp_path: Path, source: str) -> None:
    (found,) = check(tmp_path, notebook(cell(SETUP), cell(source), cell(TRAIN))).diagnostics
    assert (found.code, found.range.start.cell) == ("AMP900", 2)
    assert 1 <= (found.range.start.cell_row or 0) <= len(source.split("\n"))


def test_messages_count_lines_as_places_do(tmp_path: Path) -> None:
    (found,) = check(tmp_path, notebook(cell(SETUP), cell("x = 1\nif True:\nx = 1"))).diagnostics
    assert found.message.endswith("after 'if' statement on line 2 of cell 2")
    (found,) = check(tmp_path, notebook(cell(SETUP), cell("x = 1\nit's"))).diagnostics
    assert "line 2 of cell 2" in found.message


def test_half_a_surrogate_pair_is_no_text(tmp_path: Path) -> None:
    (found,) = check(tmp_path, notebook(cell(SETUP), cell("'\ud83d'"), ensure_ascii=True)).diagnostics
    assert (found.code, found.message) == ("AMP900", "Not a notebook: cell 2 holds half a surrogate pair")


def test_outputs_cost_little_more_than_to_decode_them() -> None:
    outputs = [{"output_type": "stream", "name": "stdout", "text": ["line\n"]}] * 40_000
    code: dict[str, Any] = {"cell_type": "code", "execution_count": None, "metadata": {}, "source": ["x = 1\n"]}
    raw = json.dumps(
        {"cells": [{**code, "outputs": outputs}], "metadata": {}, "nbformat": 4, "nbformat_minor": 4}, indent=1
    )
    decoding, reading = _cpu(lambda: json.loads(raw)), _cpu(lambda: Notebook.read(raw))
    assert reading < 7 * decoding


def _cpu(work: Callable[[], object]) -> float:
    """The least time of a few runs, in seconds of CPU."""

    def once() -> float:
        began = time.process_time()
        work()
        return time.process_time() - began

    return min(once() for _ in range(3))


def test_edits_beyond_a_cell_are_refused() -> None:
    read = Notebook.read(notebook(cell("%cd ..\nx = 1\n"), cell("y = 2\n")))
    with pytest.raises(CellsCrossed, match="beyond cell 1"):
        read.edited(read.text.replace("pass  # end of cell 1\n", ""))
    with pytest.raises(CellsCrossed, match="only IPython"):
        read.edited(read.text.replace("pass##", "pass  "))
    assert read.edited(read.text) == read.raw
    with pytest.raises(NotebookError, match="^it has no list of cells$"):
        Notebook.read("{}")
    for source in ("7", "{}", '["x = 1", 7]', "[[]]"):
        with pytest.raises(NotebookError, match="^the source of cell 1 is no text$"):
            Notebook.read(f'{{"cells": [{{"cell_type": "code", "source": {source}}}]}}')
    with pytest.raises(NotebookError, match="not valid JSON"):
        Notebook.read(f'{{"cells": [], "x": {"9" * 5000}}}')


WEDGES = b"% ! ? \\n \\\\ ' ( ) %%time\\n %sql if(1): { [ # \xff await".split()


@pytest.mark.parametrize("original", all_notebooks(), ids=str)
def test_no_damage_brings_amplint_down(original: NotebookFixture, tmp_path: Path) -> None:
    chance = random.Random(str(original))
    for _ in range(12):
        damaged = bytearray(original.data)
        for _ in range(chance.randint(1, 3)):
            place = chance.randrange(len(damaged))
            damaged[place : place + chance.randrange(3)] = chance.choice(WEDGES)
        path = tmp_path / "nb.ipynb"
        path.write_bytes(damaged)
        run = amplint("--fix", "--unsafe-fixes", path)
        assert run.exit_code in (0, 1, 2) and "internal error" not in run.stderr
        if path.read_bytes() != damaged:
            before, after = read(bytes(damaged)), read(path.read_bytes())
            assert [each["cell_type"] for each in before["cells"]] == [each["cell_type"] for each in after["cells"]]
