"""The cheap look at a file: bytes, then Python's own parser."""

from __future__ import annotations

import ast
import warnings
import weakref

import pytest

from amplint.python_ast import gate
from amplint.system.memory import Kept, Memory, remembering


@pytest.mark.parametrize(
    ("text", "matters"),
    [
        ("with torch.autocast('cuda'): pass", True),
        ("from torch.cuda.amp import autocast as half", True),
        ("class AutoCastDelegate: pass", False),
        ("use_auto_cast = True", True),
        ("scaler = GradScaler()", True),
        ("it.unscale_(opt)", True),
        ("@custom_fwd\ndef f(): pass", True),
        ("self.scaler.scale(loss).backward()", True),
        ("scaler.fit(x)", False),
        ("loss.backward()", False),
        ("def unscale_it(): pass", False),
        ("import torch", False),
        ("", False),
    ],
)
def test_words_of_amp(text: str, matters: bool) -> None:
    assert gate.may_matter(text.encode()) is matters


@pytest.mark.parametrize(
    ("trigger", "text", "matters"),
    [
        ("^Linear$", "nn.Linear(3, 4)", True),
        ("^Linear$", "nn.LinearReLU(3, 4)", False),
        ("clip_grad", "torch.nn.utils.clip_grad_norm_(p)", True),
        ("^exp|^log", "torch.log(x)", True),
        ("^exp|^log", "catalog(x)", False),
        (r"Linear\(\s*\d", "Linear( 30, 4)", True),
        (r"Linear\(\s*\d", "Linear(width, 4)", False),
        (r"[Cc]lip_?grad", "clipgrad()", True),
        (r"expm?1", "exp1(x)", True),
    ],
)
def test_triggers_of_rules(trigger: str, text: str, matters: bool) -> None:
    assert gate.is_triggered(text.encode(), [trigger]) is matters
    assert gate.is_triggered(text.encode(), [trigger, "^no_such_word$"]) is matters
    assert not gate.may_matter(text.encode())


def test_any_encoding_is_looked_at() -> None:
    assert gate.may_matter("# Größe\nautocast()".encode("latin-1"))
    assert gate.may_matter(b"\xef\xbb\xbfautocast()")


@pytest.mark.parametrize(
    ("text", "matters"),
    [
        ("# with autocast():\n", False),
        ("x = 1\n    # scaler = GradScaler()\n", False),
        ('def f():\n    """Trains.\n\n    >>> with torch.autocast("cuda"):\n    """\n', False),
        ("class MeanScaler:\n    # >>> loss.backward()\n    pass\n", False),
        ("# autocast\nwith autocast():\n    pass\n", True),
        ("x = 1  # of autocast\n", True),  # only a row as a whole is looked at
        ("# old\rwith autocast():\r    pass\r", True),
        ("class MeanScaler:\n    # >>> loss.backward()\n    def f(self, loss): loss.backward()\n", True),
    ],
)
def test_comments_and_examples_are_no_code(text: str, matters: bool) -> None:
    assert gate.may_matter(text.encode()) is matters


def test_parsing_is_silent_about_style() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert isinstance(gate.parse('x = "\\d"\nx is 3\n'), ast.Module)


@pytest.mark.parametrize("text", ["def f(:\n", "print 1\n", "x = (\n", "\tx\n y\n"])
def test_syntax_errors_are_those_of_python(text: str) -> None:
    with pytest.raises(SyntaxError):
        gate.parse(text)


@pytest.mark.parametrize(
    "text", ["(" * 500 + ")" * 500, "-" * 50_000 + "1", "".join(" " * n + "if x:\n" for n in range(300))]
)
def test_nesting_that_python_itself_does_not_take(text: str) -> None:
    with pytest.raises((gate.TooDeep, IndentationError)):
        gate.parse(text)


def test_a_tree_is_made_once_while_somebody_holds_it() -> None:
    text = "scaler.step(optimizer)\n"
    held = gate.parse(text)
    assert gate.parse("".join(text)) is held
    assert ast.dump(held) == ast.dump(ast.parse(text))


def test_trees_that_were_asked_for_last_are_kept_where_somebody_wants_that() -> None:
    texts = [f"x = {number}\n" for number in range(3)]
    memory = Memory({Kept.TREES: 2 * len(texts[0])})
    with remembering(memory):
        first = weakref.ref(gate.parse(texts[0]))
        second = weakref.ref(gate.parse(texts[1]))
        gate.parse(texts[0])
        assert first() is not None and second() is not None
        gate.parse(texts[2])
        assert first() is not None and second() is None
    third = weakref.ref(gate.parse("x = 3\n"))
    assert first() is not None and third() is None
    del memory
    assert first() is None
