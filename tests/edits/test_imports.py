"""What the importer makes of a file: the spelling it gives, the text it leaves."""

from __future__ import annotations

import libcst as cst
import pytest

from amplint.edits.imports import Importer
from amplint.python_ast.gate import parse
from amplint.python_ast.slicing import relevant_rows
from amplint.source import Source
from amplint.syntax.names import Names
from amplint.syntax.tree import Tree


def importer_of(text: str, path: str = "train.py", *, sliced: bool = False) -> tuple[Tree, Importer]:
    source = Source(path, text)
    rows = relevant_rows(source, parse(text)) if sliced else None
    tree = Tree(source, rows)
    return tree, Importer(tree, Names(tree))


def get(text: str, qualified: str = "torch.amp.autocast", *, sliced: bool = False) -> tuple[str, str]:
    """The spelling for the callee of the call of `autocast`, and the text after the edits."""
    tree, importer = importer_of(text, sliced=sliced)
    [use] = [call.func for call in tree.find(cst.Call) if tree.text(call.func).endswith("autocast")]
    spelling, edits = importer.get(qualified, use)
    for edit in reversed(edits):
        text = text[: edit.start] + edit.replacement + text[edit.end :]
    parse(text)
    return spelling, text


@pytest.mark.parametrize(
    ("text", "spelling"),
    [
        ("import torch\ntorch.cuda.amp.autocast()\n", "torch.amp.autocast"),
        ("import torch as t\nt.cuda.amp.autocast()\n", "t.amp.autocast"),
        ("import torch.cuda.amp\ntorch.cuda.amp.autocast()\n", "torch.amp.autocast"),
        (
            "import torch.nn as nn\nimport torch\nfrom torch.cuda.amp import autocast\nautocast()\n",
            "torch.amp.autocast",
        ),
        ("from torch import amp\nfrom torch.cuda.amp import autocast\nautocast()\n", "amp.autocast"),
        ("from torch.amp import autocast as cast\nfrom torch.cuda.amp import autocast\nautocast()\n", "cast"),
        ("from torch import autocast as cast\nfrom torch.cuda.amp import autocast\nautocast()\n", "cast"),
        ("from torch.cuda.amp import autocast\ndef f():\n    autocast()\nimport torch\n", "torch.amp.autocast"),
        ("def f():\n    import torch\n    from torch.cuda.amp import autocast\n    autocast()\n", "torch.amp.autocast"),
        (
            "if cuda:\n    import torch\n    from torch.cuda.amp import autocast\ndef f():\n    autocast()\n",
            "torch.amp.autocast",
        ),
        (
            "try:\n    import torch\nexcept ImportError:\n    torch = None\ndef f():\n    torch.cuda.amp.autocast()\n",
            "torch.amp.autocast",
        ),
    ],
)
def test_reuses_what_is_imported(text: str, spelling: str) -> None:
    assert get(text) == (spelling, text)


def test_a_module_reached_only_in_another_scope_is_not_reused() -> None:
    text = "from torch.cuda.amp import autocast\ndef g():\n    import torch\ndef f():\n    autocast()\n"
    assert get(text) == ("torch.amp.autocast", f"import torch\n{text}")


def test_a_later_import_of_the_same_scope_is_not_reused() -> None:
    text = "from torch.cuda.amp import autocast\nautocast()\nimport torch\n"
    assert get(text) == ("torch.amp.autocast", f"import torch\n{text}")


def test_a_shadowed_module_is_not_reused() -> None:
    text = "import torch\nfrom torch.cuda.amp import autocast\ndef f(torch):\n    autocast()\n"
    spelling, fixed = get(text)
    assert spelling == "torch_autocast"
    assert fixed == text.replace(
        "import torch\n", "from torch.amp import autocast as torch_autocast\nimport torch\n", 1
    )


def test_names_that_are_taken_are_avoided() -> None:
    text = "from torch.cuda.amp import autocast\ntorch = torch_autocast = 1\nautocast()\n"
    assert get(text)[0] == "torch_autocast_2"


@pytest.mark.parametrize(
    ("statement", "extended"),
    [
        ("from torch.amp import GradScaler", "from torch.amp import GradScaler, autocast"),
        ("from torch.amp import (GradScaler,)  # new", "from torch.amp import (GradScaler, autocast,)  # new"),
        (
            "from torch.amp import (\n    GradScaler,  # new\n)",
            "from torch.amp import (\n    GradScaler,\n    autocast,  # new\n)",
        ),
        ("from torch.amp import GradScaler as Scaler", "from torch.amp import GradScaler as Scaler, autocast"),
    ],
)
def test_extends_a_from_import(statement: str, extended: str) -> None:
    text = "from torch.cuda.amp import autocast as old_autocast\n{}\nold_autocast()\n"
    assert get(text.format(statement)) == ("autocast", text.format(extended))


@pytest.mark.parametrize(
    ("before", "after"),
    [
        # Beside what the file imports from torch.
        (
            '"""Train."""\nimport os\n\nfrom torch import nn\nfrom torch.cuda.amp import autocast\nautocast()\n',
            '"""Train."""\nimport os\n\nimport torch\nfrom torch import nn\nfrom torch.cuda.amp import autocast\nautocast()\n',
        ),
        (
            "#!/usr/bin/env python\nfrom torch.cuda.amp import autocast\nautocast()",
            "#!/usr/bin/env python\nimport torch\nfrom torch.cuda.amp import autocast\nautocast()",
        ),
        (
            "from torch.cuda.amp import autocast\r\nautocast()\r\n",
            "import torch\r\nfrom torch.cuda.amp import autocast\r\nautocast()\r\n",
        ),
        # In the function or the branch that the old name was imported in.
        (
            "def f():\n    from torch.cuda.amp import autocast\n    autocast()\n",
            "def f():\n    import torch\n    from torch.cuda.amp import autocast\n    autocast()\n",
        ),
        (
            "def f(): from torch.cuda.amp import autocast; autocast()\n",
            "def f(): import torch; from torch.cuda.amp import autocast; autocast()\n",
        ),
    ],
)
def test_adds_a_line_beside_the_old_import(before: str, after: str) -> None:
    assert get(before) == ("torch.amp.autocast", after)


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("x.autocast()\n", "import contextlib\n\nx.autocast()\n"),
        (
            "#!/bin/env python\n# notes\n\nx.autocast()\n",
            "#!/bin/env python\n# notes\n\nimport contextlib\n\nx.autocast()\n",
        ),
        ('"""Train."""\nx.autocast()\n', '"""Train."""\n\nimport contextlib\nx.autocast()\n'),
        (
            '"""Train."""\nfrom __future__ import annotations\n\nx.autocast()\n',
            '"""Train."""\nfrom __future__ import annotations\n\nimport contextlib\n\nx.autocast()\n',
        ),
        (
            "import os\nfrom torch import nn\n\nx.autocast()\n",
            "import os\nfrom torch import nn\nimport contextlib\n\nx.autocast()\n",
        ),
        (
            "try:\n    import torch\nexcept ImportError:\n    torch = None\nx.autocast()\n",
            "import contextlib\n\ntry:\n    import torch\nexcept ImportError:\n    torch = None\nx.autocast()\n",
        ),
        ("@x.autocast()\ndef f(): ...\n", "import contextlib\n\n@x.autocast()\ndef f(): ...\n"),
    ],
)
def test_adds_a_line_at_the_head(before: str, after: str) -> None:
    assert get(before, "contextlib.nullcontext") == ("contextlib.nullcontext", after)


def test_the_head_is_that_of_the_whole_file_not_of_the_slice() -> None:
    text = '"""Train."""\n\ndef helper():\n    return 1\n\n\ndef f(x):\n    x.autocast()\n'
    assert get(text, "contextlib.nullcontext", sliced=True)[1] == text.replace('"""\n', '"""\n\nimport contextlib\n', 1)


def remove(text: str, name: str = "autocast", path: str = "train.py") -> str:
    """The text without the import that binds `name`."""
    tree, importer = importer_of(text, path)
    [alias] = [each for each in tree.find(cst.ImportAlias) if tree.text(each).split()[-1].partition(".")[0] == name]
    for edit in importer.remove(alias):
        text = text[: edit.start] + edit.replacement + text[edit.end :]
    parse(text)
    return text


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("import os\nfrom torch.cuda.amp import autocast\nrun()\n", "import os\nrun()\n"),
        ("import os\nfrom torch.cuda.amp import autocast", "import os\n"),
        ("import torch.cuda.amp as autocast\r\nrun()\r\n", "run()\r\n"),
        ("import os\nfrom torch.cuda.amp import autocast  # regions\n", "import os\n# regions\n"),
        ("import os; from torch.cuda.amp import autocast\n", "import os\n"),
        ("from torch.cuda.amp import autocast; import os\n", "import os\n"),
        ("def f():\n    from torch.cuda.amp import autocast\n", "def f():\n    pass\n"),
        ("if x: from torch.cuda.amp import autocast\n", "if x: pass\n"),
        ("def f():\n    from torch.cuda.amp import autocast\n\n    run()\n", "def f():\n    run()\n"),
        ("import os\n\nfrom torch.cuda.amp import autocast\n\n\nrun()\n", "import os\n\n\nrun()\n"),
        ("from torch.cuda.amp import autocast\n\n\nrun()\n", "run()\n"),
        # One of several names.
        ("from torch.cuda.amp import GradScaler, autocast\n", "from torch.cuda.amp import GradScaler\n"),
        ("from torch.cuda.amp import autocast, GradScaler\n", "from torch.cuda.amp import GradScaler\n"),
        ("from torch.cuda.amp import old as autocast, GradScaler\n", "from torch.cuda.amp import GradScaler\n"),
        ("from torch.cuda.amp import (GradScaler, autocast,)\n", "from torch.cuda.amp import (GradScaler,)\n"),
        ("from torch.cuda.amp import GradScaler, \\\n    autocast\n", "from torch.cuda.amp import GradScaler\n"),
        ("from torch.cuda.amp import autocast, \\\n    GradScaler\n", "from torch.cuda.amp import GradScaler\n"),
        (
            "from torch.cuda.amp import (\n    GradScaler,\n    autocast,\n)\n",
            "from torch.cuda.amp import (\n    GradScaler,\n)\n",
        ),
        (
            "from torch.cuda.amp import (\n    GradScaler,\n    autocast\n)\n",
            "from torch.cuda.amp import (\n    GradScaler,\n)\n",
        ),
        (
            "from torch.cuda.amp import (\n    autocast,  # a\n    GradScaler,  # b\n)\n",
            "from torch.cuda.amp import (\n    # a\n    GradScaler,  # b\n)\n",
        ),
        (
            "from torch.cuda.amp import (autocast,  # a\n    GradScaler)\n",
            "from torch.cuda.amp import (# a\n    GradScaler)\n",
        ),
        (
            "from torch.cuda.amp import (GradScaler,  # a\n    autocast)\n",
            "from torch.cuda.amp import (GradScaler,  # a\n)\n",
        ),
    ],
)
def test_removes_an_import(before: str, after: str) -> None:
    assert remove(before) == after


@pytest.mark.parametrize(
    "text",
    [
        "from torch.cuda.amp import autocast  # noqa: F401\n",
        "from torch.cuda.amp import autocast  # noqa\n",
        "from torch.cuda.amp import (\n    autocast,  # noqa: E501, F401\n)\n",
        "from torch.cuda.amp import autocast as autocast\n",
        "try:\n    from torch.cuda.amp import autocast\nexcept ImportError:\n    AMP = False\n",
        "try:\n    import apex\nexcept ImportError:\n    from torch.cuda.amp import autocast\n",
    ],
)
def test_keeps_an_import_that_is_there_for_others(text: str) -> None:
    assert remove(text) == text


def test_keeps_the_imports_of_a_package() -> None:
    text = "from torch.cuda.amp import autocast\n"
    assert remove(text, path="engine/__init__.py") == text
    assert remove(text, path="engine/init.py") == ""


@pytest.mark.parametrize(
    ("rest", "count"),
    [
        ("autocast()\n", 1),
        ("autocast()\nautocast()\n", 2),
        ("def helper():\n    return autocast\n", 1),
        ('__all__ = ["autocast"]\n', 1),
        ('__all__ += ["autocast"]\n', 1),
        ('__all__.append("autocast")\n', 1),
        ('def f(region: "Optional[autocast]"): ...\n', 1),
        ('def f() -> "autocast": ...\n', 1),
        ('region: "autocast" = make()\n', 1),
        ('mock.patch("train.autocast")\n', 1),
        ('mock.patch("torch.cuda.amp.autocast")\n', 0),
        ('def f():\n    """Run under autocast."""\n    log("autocast")  # autocast\n', 0),
        ("x.autocast(autocast=1)\n", 0),
    ],
)
def test_mentions_are_counted_in_the_whole_text(rest: str, count: int) -> None:
    tree, importer = importer_of(f"from torch.cuda.amp import autocast\n{rest}", sliced=True)
    [alias] = tree.find(cst.ImportAlias)
    assert importer.mentions["autocast"] == count
    assert importer.is_unused(alias) is (count == 0)
    assert importer.is_last_use(alias) is (count == 1)
