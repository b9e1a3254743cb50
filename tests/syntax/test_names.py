"""What the argument of `use(...)` means, through the ways in which real files come by a name."""

from __future__ import annotations

import libcst as cst
import pytest

from amplint.source import Source
from amplint.syntax.names import Names
from amplint.syntax.tree import Tree

OLD = "torch.cuda.amp.autocast"
NEW = "torch.amp.autocast"


def tree_of(text: str) -> Tree:
    return Tree(Source("train.py", text))


def meanings(text: str) -> set[str]:
    """What the one argument of the one call of `use` means."""
    tree = tree_of(text)
    [argument] = [
        call.args[0].value
        for call in tree.find(cst.Call)
        if isinstance(call.func, cst.Name) and call.func.value == "use"
    ]
    return set(Names(tree).resolve(argument))


@pytest.mark.parametrize(
    "text",
    [
        "import torch\nuse(torch.cuda.amp.autocast)",
        "import torch as t\nuse(t.cuda.amp.autocast)",
        "import torch.cuda.amp\nuse(torch.cuda.amp.autocast)",
        "import torch.cuda.amp as amp\nuse(amp.autocast)",
        "from torch import cuda\nuse(cuda.amp.autocast)",
        "from torch.cuda import amp\nuse(amp.autocast)",
        "from torch.cuda import amp as a\nuse(a.autocast)",
        "from torch.cuda.amp import autocast\nuse(autocast)",
        "from torch.cuda.amp import (\n    GradScaler,\n    autocast as cast,\n)\nuse(cast)",
        "from torch.cuda.amp import *\nuse(autocast)",
        "from torch.cuda.amp.autocast_mode import autocast\nuse(autocast)",
        "import torch\nuse(torch.cuda.amp.autocast_mode.autocast)",
        "import torch.cuda.amp.autocast_mode as mode\nuse(mode.autocast)",
    ],
)
def test_import_spellings(text: str) -> None:
    assert meanings(text) == {OLD}


@pytest.mark.parametrize(
    "text",
    [
        "def f():\n    from torch.cuda.amp import autocast\n    use(autocast)",
        "def f():\n    from torch.cuda.amp import autocast\n    def g():\n        use(autocast)",
        "class Trainer:\n    from torch.cuda.amp import autocast\n    use(autocast)",
        "from torch.cuda.amp import autocast\nclass Trainer:\n    def fit(self):\n        use(autocast)",
        "import torch\nautocast = torch.cuda.amp.autocast\nuse(autocast)",
        "import torch\namp = torch.cuda.amp\ncast = amp.autocast\ndef f():\n    use(cast)",
        "import torch\namp, backend = torch.cuda.amp, torch.backends\nuse(amp.autocast)",
        "from torch.cuda.amp import autocast\ndef f(autocast=use(autocast)): ...",
        "from torch.cuda.amp import autocast\ndef f(region, autocast: use(autocast)): ...",
        "from torch.cuda.amp import autocast\n@use(autocast)\ndef f(autocast): ...",
        "from torch.cuda.amp import autocast\nrun = lambda autocast=use(autocast): autocast",
        "def load():\n    global autocast\n    from torch.cuda.amp import autocast\ndef f():\n    use(autocast)",
        "try:\n    from torch.cuda.amp import autocast\nexcept ImportError:\n    autocast = None\nuse(autocast)",
        "try:\n    import torch\nexcept ImportError:\n    torch = None\nuse(torch.cuda.amp.autocast)",
        "if True:\n    from torch.cuda.amp import autocast\nuse(autocast)",
    ],
)
def test_scopes_and_aliases(text: str) -> None:
    assert meanings(text) == {OLD}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            "try:\n    from torch.amp import autocast\nexcept ImportError:\n"
            "    from torch.cuda.amp import autocast\nuse(autocast)",
            {NEW, OLD},
        ),
        (
            "if torch_is_new:\n    from torch.amp import autocast\nelse:\n    from torch.cuda.amp import autocast\nuse(autocast)",
            {NEW, OLD},
        ),
        ("from torch.cuda.amp import autocast\nfrom torch.amp import autocast\nuse(autocast)", {NEW, OLD}),
        (
            "try:\n    from torch.cuda.amp import autocast\nexcept ImportError:\n    class autocast: ...\nuse(autocast)",
            {OLD, "<local>.autocast"},
        ),
        (
            "from torch.cuda.amp import autocast\nfrom contextlib import nullcontext\nautocast = nullcontext\nuse(autocast)",
            {OLD, "contextlib.nullcontext"},
        ),
        ("from torch.cuda.amp import autocast\nautocast = make()\nuse(autocast)", {OLD, "?"}),
        (
            "def f():\n    cast = None\n    def g():\n        nonlocal cast\n"
            "        from torch.cuda.amp import autocast as cast\n    use(cast)",
            {OLD},
        ),
        (
            "def f():\n    from torch.amp import autocast\n    def g():\n        nonlocal autocast\n"
            "        autocast = make()\n    use(autocast)",
            {NEW, "?"},
        ),
        ("from torch.cuda.amp import *\nfrom utils import *\nuse(autocast)", {OLD, "?"}),
        (
            "import torch\ncast = torch.amp.autocast if is_new else torch.cuda.amp.autocast\nuse(cast)",
            {NEW, OLD},
        ),
        ("import torch\nuse(torch.amp.autocast if is_new else make())", {NEW, "?"}),
        ("import torch\ncast = torch.amp.autocast\ncast = cast if is_new else make()\nuse(cast)", {NEW, "?"}),
    ],
)
def test_several_meanings(text: str, expected: set[str]) -> None:
    assert meanings(text) == expected


@pytest.mark.parametrize(
    "text",
    [
        "from torch.cuda.amp import autocast\ndef f(autocast):\n    use(autocast)",
        "from torch.cuda.amp import autocast\nrun = lambda autocast: use(autocast)",
        "from torch.cuda.amp import autocast\ndef f():\n    for autocast in regions:\n        use(autocast)",
        "from torch.cuda.amp import autocast\ndef f():\n    with open(p) as autocast:\n        use(autocast)",
        "from torch.cuda.amp import autocast\ndef f():\n    if (autocast := make()):\n        use(autocast)",
        "from torch.cuda.amp import autocast\ndef f(x):\n    match x:\n        case autocast:\n            use(autocast)",
        "from torch.cuda.amp import autocast\ndef f():\n    first, *autocast = regions()\n    use(autocast)",
        "import functools\nimport torch\ncast = functools.partial(torch.cuda.amp.autocast, enabled=True)\nuse(cast)",
        "autocast = autocast\nuse(autocast)",
        "class Trainer:\n    from torch.cuda.amp import autocast\n    def fit(self):\n        use(autocast)",
        "use(make().autocast)",
        "from os import *\nuse(autocast)",
    ],
)
def test_unknown(text: str) -> None:
    assert meanings(text) == {"?"}


def test_other_modules_are_not_torch() -> None:
    assert meanings("from .amp import autocast\nuse(autocast)") == {".amp.autocast"}
    assert meanings("from . import amp\nuse(amp.autocast)") == {".amp.autocast"}
    assert meanings("from apex import amp\nuse(amp.autocast)") == {"apex.amp.autocast"}
    assert meanings("use(open)") == {"builtins.open"}


def references(text: str) -> list[str]:
    tree = tree_of(text)
    return sorted(tree.text(node) for node in Names(tree).references({OLD}))


def test_references_are_uses_only() -> None:
    text = (
        "import torch\nfrom torch.cuda.amp import autocast\nfrom torch.cuda.amp import autocast as cast\n"
        "again = cast\nautocast(enabled=autocast)\nx.autocast = run(cast=1)\ntorch.cuda.amp.autocast = again\n"
        "def f(cast): cast()\n"
    )
    assert references(text) == ["again", "autocast", "autocast", "cast"]


def test_references_through_star_and_decorator() -> None:
    assert references("from torch.cuda.amp import *\n@autocast()\ndef f(): ...\nf.autocast = 1\n") == ["autocast"]
    assert references("import torch\nclass A(torch.cuda.amp.autocast): ...\n") == ["torch.cuda.amp.autocast"]


def test_visible_names_start_inside() -> None:
    tree = tree_of("import torch\nclass A:\n    size = 1\n    def f(self, torch): use(torch)\n")
    [call] = tree.find(cst.Call)
    seen = dict(Names(tree).visible(call))
    assert list(seen) == ["self", "torch", "A"]
    assert isinstance(seen["torch"][0].node, cst.Param)
