"""Syntax of Python 3.12 and later, read by the Python that runs the tests, whatever it is."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from program import amplint

from amplint.python_ast import gate
from amplint.python_ast.newer_syntax import in_older_words

NEWER = {
    "type Pair = tuple[int, int]\n": "type;Pair = tuple[int, int]\n",
    "type Pair[T] = tuple[T, T]\n": "type;Pair    = tuple[T, T]\n",
    "def first[T](items: list[T]) -> T: ...\n": "def first   (items: list[T]) -> T: ...\n",
    "class Box[T: (int, str) = int, *Ts, **P](Base): ...\n": "class Box" + " " * 31 + "(Base): ...\n",
    "def f[\n    T,\n](x): ...\n": "def f\\\n     \\\n (x): ...\n",
    "try:\n    pass\nexcept A, b.C:\n    pass\n": "try:\n    pass\nexcept A| b.C:\n    pass\n",
    'x = t"{a}"\n': 'x = f"{a}"\n',
    'x = f"{row["a"]:>10}"\n': "x = f\"{row['a']:>10}\"\n",
    'x = f"{", ".join(f"{key}={value!r}" for key in d)}"\n': "x = f\"{', '.join(f'{key}={value!r}' for key in d)}\"\n",
    "x = f'{'\\n'.join(lines)}'\n": "x = f'{\"_n\".join(lines)}'\n",
    "x = f'{f' {name}\\n' if name else ''}'\n": 'x = f\'{f" {name}_n" if name else ""}\'\n',
    'x = f"{\n  a} of {len(b):>{width}} {c!r}"\n': "x = ( (\n  a)    (len(b))          (c)  )\n",
    'print(f"{a != b:d}, {\n    b\n}")\n': "print(( (a != b)    (\n    b\n)))\n",
    "lazy import json\n": "lazy;import json\n",
}
BROKEN = (
    "def f[T]",
    "def f(:\n",
    "x = (\n",
    'x = f"{a["b"]"\n',
    "print 'x'\n",
    'f"{"',
    "type X\n",
    "def f[T(x): ...\n",
    "f'{'''\n",
)

TRAINING = """\
import torch

type Batch = dict[str, torch.Tensor]


def train[Model: torch.nn.Module](model: Model, loader, optimizer):
    scaler = torch.amp.GradScaler("cuda")
    for größe, batch in loader:
        with torch.amp.autocast("cuda", dtype=torch.float16):
            loss = model(batch["x"])
        scaler.scale(loss).backward()
        print(f"{größe["row"]}: {loss.item()}")
        print(f"{", ".join(größe)}")
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        scaler.step(optimizer)
        scaler.update()
"""


@pytest.mark.parametrize(("text", "older"), NEWER.items())
def test_newer_syntax_in_older_words_of_the_same_length(text: str, older: str) -> None:
    assert in_older_words(text) == older
    assert len(text) == len(older) and [*map(len, text.split("\n"))] == [*map(len, older.split("\n"))]
    assert gate.is_python(text)


@pytest.mark.parametrize("text", BROKEN)
def test_what_no_python_reads_stays_a_syntax_error(text: str) -> None:
    with pytest.raises(SyntaxError):
        gate.parse(text)


def test_strings_and_comments_are_left_alone() -> None:
    text = "'''\ntype X = int\ndef f[T](): ...\n'''\n# except A, B:\nx = 'type Y = int'\ntype Z = int\n"
    assert in_older_words(text) == text.replace("type Z", "type;Z")
    assert ast.dump(gate.parse(text.replace("type Z", "type;Z"))) == ast.dump(
        ast.parse(text.replace("type Z", "type;Z"))
    )


def test_a_long_text_takes_no_long() -> None:
    assert not gate.is_python("def f[\n" * 20_000 + "]" * 20_000)
    for piece in ("def f[\n", 'f"{', "f'{x[", "except A, ", "def f[", "type x", "'", '"""', "f'{a!r:{", "\\"):
        assert gate.is_python(piece * 20_000) is (piece in ("'", '"""')), piece  # an even number of quotes is a string


def test_findings_and_fixes_in_newer_syntax(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(TRAINING, "utf-8")
    (tmp_path / "broken.py").write_text("GradScaler = f(\n", "utf-8")
    shown = amplint("--no-cache", "--isolated", ".", cwd=tmp_path)
    assert [line.split()[0:2] for line in shown.stdout.splitlines()] == [
        ["broken.py:1:15:", "AMP900"], ["train.py:14:9:", "AMP101"],
    ]  # fmt: skip
    full = amplint("--no-cache", "--isolated", "--output-format", "full", "broken.py", cwd=tmp_path).stdout
    assert "note: read by Python 3." in full
    amplint("--no-cache", "--isolated", "--fix", "train.py", cwd=tmp_path)
    fixed = (tmp_path / "train.py").read_text("utf-8")
    assert "scaler.unscale_(optimizer)" in fixed
    assert [line for line in fixed.split("\n") if "unscale_" not in line] == TRAINING.split("\n")
