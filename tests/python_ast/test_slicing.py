"""Slicing: fewer rows are parsed, and what is found in them is what is found in the whole file, at the same place."""

from __future__ import annotations

from itertools import groupby
from textwrap import dedent

import libcst as cst
import pytest
from fixture_harness import fixtures_of
from lowered import in_loop

from amplint.python_ast import gate
from amplint.python_ast.slicing import relevant_rows
from amplint.rule import File, Rule
from amplint.source import Source
from amplint.syntax.tree import Tree
from amplint.testing import Fixture

FILLER = '''

class Unrelated(Base):
    """Says nothing of what matters here."""

    size: int = 3

    def describe(self):
        return f"{self.size} of them"


def unrelated(path, *, deep=False):
    for name in path.iterdir():
        yield name if deep else name.stem
'''


def rows_of(text: str, triggers: tuple[str, ...] = ()) -> list[int] | None:
    source = Source("test.py", text)
    return relevant_rows(source, gate.parse(text), triggers)


def kept(text: str, triggers: tuple[str, ...] = ()) -> str:
    """The text that is parsed."""
    source = Source("test.py", text)
    return text_of(source, relevant_rows(source, gate.parse(text), triggers))


def text_of(source: Source, rows: list[int] | None) -> str:
    """The text of some rows."""
    starts = [*source.line_starts, len(source.text)]
    return source.text if rows is None else "".join(source.text[starts[row - 1] : starts[row]] for row in rows)


def findings(source: Source, rules: tuple[Rule, ...], rows: list[int] | None) -> list[str]:
    file = File(Tree(source, rows), (2, 3))
    return sorted(
        f"{found.range} {found.code} {found.message} {found.note} {found.related} "
        f"{found.fix.applicability if found.fix else None}"
        for rule in rules
        for found in rule.run(file)
    )


def triggers_of(fixture: Fixture) -> set[str]:
    return {trigger for rule in fixture.rules for trigger in (*rule.triggers, *rule.keeps)}


EVERY_THIRD, EVERY_TENTH = (
    {code: list(some) for code, some in groupby(fixtures_of()[::step], key=lambda fixture: fixture.code)}
    for step in (3, 10)
)
"""Some fixtures by rule."""


@pytest.mark.parametrize("code", EVERY_THIRD)
def test_a_slice_shows_what_the_whole_shows(code: str) -> None:
    for fixture in EVERY_THIRD[code]:
        rows = relevant_rows(fixture.source, gate.parse(fixture.source.text), triggers_of(fixture))
        if rows is not None:  # else the slice is the whole
            own = tuple(rule for rule in fixture.rules if rule.code == code)
            whole = findings(fixture.source, own, None)
            assert whole == ([] if rows == [] else findings(fixture.source, own, rows)), fixture


@pytest.mark.parametrize("code", EVERY_TENTH)
def test_among_what_does_not_matter(code: str) -> None:
    for fixture in EVERY_TENTH[code]:
        source = Source(fixture.source.path, fixture.source.text.rstrip() + FILLER)
        rows = relevant_rows(source, gate.parse(source.text), triggers_of(fixture))
        assert rows is not None and len(rows) < len(source.line_starts), fixture
        whole = findings(source, fixture.rules, None)
        assert whole == ([] if rows == [] else findings(source, fixture.rules, rows)), fixture


# -- what is kept --------------------------------------------------------------------------------------------------------


def test_nothing_is_kept_where_nothing_matters() -> None:
    assert rows_of("import torch\n\n\ndef train(model):\n    model().backward()\n") == []
    assert rows_of("") == []


def test_everything_is_all_rows() -> None:
    assert rows_of("import torch\nscaler = torch.amp.GradScaler()") is None


def test_imports_and_short_statements_stay_and_long_tables_go() -> None:
    table = "TABLE = [\n" + "    1,\n" * 60 + "]\n"
    text = kept(f"import torch\nWIDTH = 3\n{table}scaler = torch.amp.GradScaler()\n")
    assert "WIDTH" in text and "TABLE" not in text


def test_declarations_of_options_go() -> None:
    options = 'parser = ArgumentParser()\n    parser.add_argument("--amp")\n    args = parser.parse_args()'
    text = f"def main():\n    {options}\n    with autocast(enabled=args.amp):\n        pass\n"
    assert kept(text) == text.replace('    parser.add_argument("--amp")\n', "")


def test_definitions_that_are_named_stay_and_so_do_their_callers() -> None:
    text = kept(
        in_loop("scaler.scale(loss).backward()\nhelper(optimizer)")
        + dedent("""
        def helper(optimizer):
            return deeper(optimizer)

        def deeper(optimizer):
            return 3

        def main(loader, args):
            optimizer.zero_grad()
            train(loader, args)

        def unrelated(a):
            return 4
    """)
    )
    assert "def helper" in text and "def deeper" in text and "def main" in text and "def unrelated" not in text


def test_definitions_that_bind_a_global_anew_stay() -> None:
    code = dedent("""
        import torch
        chosen, other = torch.float16, 1

        def configure(options):
            global chosen
            chosen = options.kind

        def count():
            global other
            other += 1

        def train(model, x):
            with torch.autocast("cuda", dtype=chosen):
                return model(x)
    """)
    rows = rows_of(code)
    assert rows is not None
    kept = [code.splitlines()[row - 1] for row in rows]
    assert "    global chosen" in kept
    assert "    global other" not in kept


def test_callers_of_what_matters_stay_through_others() -> None:
    text = kept("""
def context():
    return torch.autocast("cuda")

def compute(model, x):
    with context():
        return model(x)

def between(model, x):
    return compute(model, x)

def main(criterion):
    return criterion(between(x))

def loss():
    return 3

def unrelated():
    return loss()
""")
    assert "def between" in text and "def main" in text and "def unrelated" not in text


def test_by_another_name() -> None:
    text = kept(
        "from torch import autocast as half\n\ndef train(x):\n    with half('cuda'):\n        pass\n\ndef other():\n    pass\n"
    )
    assert "def train" in text and "def other" not in text


# -- what is left is Python ----------------------------------------------------------------------------------------------

SHAPES = {
    "a class of methods alone": (
        "class A:\n    def one(self):\n        pass\n\n    def two(self):\n        autocast()\n"
    ),
    "none of the methods matters": (
        "class A(GradScaler):\n    def one(self):\n        pass\n\n    def two(self):\n        pass\n"
    ),
    "a class in one line": "class A: pass\nautocast()\nclass B: x = autocast()\n",
    "a method in one line": "class A:\n    def one(self): pass\n    def two(self): return autocast()\n",
    "decorators": (
        "class A:\n    @property\n    def one(self):\n        pass\n\n"
        "    @torch.no_grad()\n    @autocast()\n    def two(self):\n        pass\n"
    ),
    "a decorator that is called over rows": (
        "@decorate(\n    autocast,\n)\ndef one():\n    pass\n\n@decorate(\n    1,\n)\ndef two():\n    pass\n"
    ),
    "semicolons": "import torch; x = 3; scaler = torch.amp.GradScaler()\ndef f(): pass\nx = 1; y = 2\n",
    "semicolons after a class": "class A: x = 1; y = autocast()\n",
    "form feeds": (
        "import torch\n\f\ndef f():\n    pass\n\f\nclass A:\n    \f\n    def g(self):\n        autocast()\n"
    ),
    "comments between": (
        "# one\nclass A:\n    # two\n    def f(self):\n        pass\n"
        "    # three\n\n    def g(self):\n        autocast()  # four\n# five\n"
    ),
    "nested classes": (
        "class A:\n    class B:\n        def f(self):\n            autocast()\n\n    def g(self):\n        pass\n"
    ),
    "if at the top": "if True:\n    def f():\n        autocast()\nelse:\n    def f():\n        pass\n",
    "a text of many rows": (
        'class A:\n    """One\n\ntwo."""\n\n    def f(self):\n        return """\n'
        'autocast\n"""\n\n    def g(self):\n        autocast()\n'
    ),
    "continued rows": "x = 1 + \\\n    2\ndef f():\n    return autocast() \\\n        or 3\n",
    "async": (
        "class A:\n    async def f(self):\n        pass\n\n"
        "    async def g(self):\n        async with autocast():\n            pass\n"
    ),
    "no newline at the end": "def f():\n    pass\n\ndef g():\n    autocast()",
    "windows": "def f():\r\n    pass\r\n\r\ndef g():\r\n    autocast()\r\n",
    "tabs": "class A:\n\tdef f(self):\n\t\tpass\n\tdef g(self):\n\t\tautocast()\n",
    "two on one row": "class A:\n    x = 1; y = 2\n    def f(self): pass\n    z = autocast()\n",
    "options in every block": dedent("""\
        def f(p, x):
            p.add_argument(
                "--a",
            ); p.add_argument("--b")
            if x: p.add_argument("--c"); p.add_argument("--d")
            elif x:
                p.add_argument("--e")
                p.add_argument("--f")
            try:
                p.add_argument("--g"); x = autocast()
            except ValueError:
                p.add_argument("--h")
                x = 2
            else:
                # a comment
                p.add_argument("--i")
            class A:
                p.add_argument("--j")
            """),
    "an option in a row that goes on, windows": "def f(p):\r\n    x = autocast(); \\\r\n    p.add_argument(1)\r\n    x\r\n",
    "an option in a row that goes on": 'def f(p):\n    x = autocast(); \\\n    p.add_argument("--a")\n    return x\n',
}


@pytest.mark.parametrize("text", SHAPES.values(), ids=SHAPES.keys())
def test_what_is_kept_parses_and_keeps_its_place(text: str) -> None:
    source = Source("test.py", text)
    rows = relevant_rows(source, gate.parse(text))
    assert rows != []
    tree = Tree(source, rows)
    gate.parse(text_of(source, rows))
    found = [name for name in tree.find(cst.Name) if name.value in ("autocast", "GradScaler")]
    assert found
    for name in tree.find(cst.Name):
        start, end = tree.span(name)
        assert text[start:end] == name.value
    definitions: list[cst.FunctionDef | cst.ClassDef] = [*tree.find(cst.FunctionDef), *tree.find(cst.ClassDef)]
    for definition in definitions:
        assert definition.name.value in tree.text(definition)


def test_a_place_in_a_slice_is_a_place_in_the_file() -> None:
    text = f"import torch{FILLER}\n\ndef train(x):\n    with torch.autocast('cuda'):\n        x.backward()\n"
    source = Source("test.py", text)
    tree = Tree(source, rows_of(text))
    (call,) = (call for call in tree.find(cst.Call) if tree.text(call) == "x.backward()")
    assert tree.range(call).start.row == text.splitlines().index("        x.backward()") + 1
    assert tree.span(call) == (text.index("x.backward"), text.index("x.backward()") + len("x.backward()"))


ENTERED = """
import math

class Base:
    def scale(self):
        return 1

class Loss(Base):
    def __init__(self, width):
        self.width = width

    def forward(self, x):
        return self.shrink(x) / area(self.width)

    def shrink(self, x):
        return x - 1

    def draw(self, x):
        return x

def area(width):
    return math.pi * width

def unrelated(width):
    return width
"""


@pytest.mark.parametrize(
    ("names", "kept_words", "dropped"),
    [
        (
            {"Loss"},
            ("class Loss", "def forward", "def shrink", "def area", "class Base"),
            ("def draw", "def unrelated"),
        ),
        ({"Loss", "draw"}, ("def draw", "def forward"), ("def unrelated",)),
        ({"unrelated"}, ("def unrelated",), ("class Loss", "def area")),
    ],
)
def test_what_others_enter_is_kept_with_all_that_it_leads_to(
    names: set[str], kept_words: tuple[str, ...], dropped: tuple[str, ...]
) -> None:
    source = Source("test.py", ENTERED)
    text = text_of(source, relevant_rows(source, gate.parse(ENTERED), (), frozenset(names)))
    assert [word for word in kept_words if word not in text] == []
    assert [word for word in dropped if word in text] == []
