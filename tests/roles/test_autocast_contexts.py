"""Which region a context manager enters, whatever way it takes there."""

from __future__ import annotations

from textwrap import dedent

import libcst as cst
import pytest
from lowered import file_of, found, in_loop, marked

from amplint.model.events import NO_GRAD, Region

HEADER = """
import contextlib
import functools
import torch
from contextlib import ExitStack, nullcontext
from torch import autocast
from torch.amp import autocast as amp_autocast
from torch.cuda.amp import autocast as cuda_autocast
import torch.cuda.amp as ca
"""
HALF = Region("cuda", "float16", "yes")
MAYBE = Region("cuda", "float16", "maybe")
OFF = Region("cuda", "float16", "no")
BRAIN = Region("cuda", "bfloat16", "yes")


def entered(code: str) -> list[Region | None]:
    """What each item of the `with` statements of a module enters, in source order."""
    file = file_of(HEADER + dedent(code))
    return [file.contexts.of(item.item) for item in file.tree.find(cst.WithItem)]


def entered_by(expression: str, before: str = "") -> Region | None:
    """What `with expression:` enters in a function."""
    (region,) = entered(
        f"{dedent(before)}\ndef train(args, device, flag, dtype):\n    with {expression}:\n        pass\n"
    )
    return region


@pytest.mark.parametrize(
    ("expression", "region"),
    [
        # Spellings and defaults.
        ('torch.autocast("cuda")', HALF),
        ('torch.amp.autocast("cuda")', HALF),
        ('torch.amp.autocast(device_type="cuda")', HALF),
        ('torch.amp.autocast_mode.autocast("cuda")', HALF),
        ('autocast("cuda")', HALF),
        ('amp_autocast("cuda")', HALF),
        ("cuda_autocast()", HALF),
        ("ca.autocast()", HALF),
        ("torch.cuda.amp.autocast()", HALF),
        ("torch.cuda.amp.autocast_mode.autocast()", HALF),
        ("torch.cpu.amp.autocast()", Region("cpu", "bfloat16", "yes")),
        ('autocast("cpu")', Region("cpu", "bfloat16", "yes")),
        ('autocast("mps")', Region("mps", "float16", "yes")),
        ('autocast("xpu")', Region("xpu", "float16", "yes")),
        ('autocast("cuda:0")', HALF),
        ("autocast(device.type)", Region("?", "half", "yes")),
        # The precision.
        ('autocast("cuda", torch.bfloat16)', BRAIN),
        ('autocast("cuda", dtype=torch.bfloat16)', BRAIN),
        ('autocast("cuda", dtype=torch.half)', HALF),
        ('autocast("cuda", dtype=None)', HALF),
        ('autocast("cuda", dtype=dtype)', Region("cuda", "?", "yes")),
        ('autocast("cuda", dtype=torch.float32)', Region("cuda", "float32", "yes")),
        ("cuda_autocast(dtype=torch.bfloat16)", BRAIN),
        ("cuda_autocast(True, torch.bfloat16)", BRAIN),
        ("autocast(device.type, dtype=torch.float16)", Region("?", "float16", "yes")),
        # The switch.
        ('autocast("cuda", enabled=False)', OFF),
        ('autocast("cuda", torch.float16, False)', OFF),
        ("cuda_autocast(False)", OFF),
        ("cuda_autocast(enabled=flag)", MAYBE),
        ("cuda_autocast(enabled=args.amp)", MAYBE),
        ("cuda_autocast(enabled=True)", HALF),
        ("cuda_autocast(*flag)", Region("?", "?", "maybe")),
        ("cuda_autocast(**flag)", Region("?", "?", "maybe")),
        # Chosen.
        ("cuda_autocast() if flag else nullcontext()", MAYBE),
        ("nullcontext() if flag else cuda_autocast()", MAYBE),
        ("cuda_autocast() if flag else cuda_autocast(dtype=torch.bfloat16)", Region("cuda", "half", "yes")),
        ('autocast("cuda") if flag else autocast("cpu")', Region("?", "half", "yes")),
        ("cuda_autocast(enabled=False) if flag else nullcontext()", OFF),
        # Other contexts.
        ("torch.no_grad()", NO_GRAD),
        ("torch.inference_mode()", NO_GRAD),
        ("torch.set_grad_enabled(False)", NO_GRAD),
        ("torch.set_grad_enabled(flag)", None),
        ("torch.enable_grad()", None),
        ("nullcontext()", None),
        ("contextlib.suppress(ValueError)", None),
        ("unknown()", None),
        ('open("cuda")', None),
    ],
)
def test_regions(expression: str, region: Region | None) -> None:
    assert entered_by(expression) == region


@pytest.mark.parametrize(
    ("before", "expression", "region"),
    [
        ("half = cuda_autocast", "half()", HALF),
        ("half = torch.autocast", 'half("cuda")', HALF),
        ("ctx = cuda_autocast()", "ctx", HALF),
        ("ctx = nullcontext()", "ctx", None),
        ('FLAG = False\nctx = autocast("cuda", enabled=FLAG)', "ctx", OFF),
        ('DTYPE = torch.bfloat16\nctx = autocast("cuda", dtype=DTYPE)', "ctx", BRAIN),
        ('KIND = "cuda"\nctx = autocast(KIND)', "ctx", HALF),
        ("if GPU:\n    ctx = cuda_autocast()\nelse:\n    ctx = nullcontext()", "ctx", MAYBE),
        ("ctx = load()", "ctx", None),
        ("ctx = cuda_autocast()\nctx = load()", "ctx", MAYBE),
        ('half = functools.partial(torch.autocast, device_type="cuda")', "half()", HALF),
        ('half = functools.partial(torch.autocast, "cuda", dtype=torch.bfloat16)', "half()", BRAIN),
        ("half = functools.partial(cuda_autocast, enabled=False)", "half()", OFF),
        ('half = functools.partial(torch.autocast, "cuda")', "half(enabled=flag)", MAYBE),
        ("def half():\n    return cuda_autocast()", "half()", HALF),
        ("def half(on):\n    return cuda_autocast() if on else nullcontext()", "half(flag)", MAYBE),
        ("def half(on):\n    if on:\n        return cuda_autocast()\n    return nullcontext()", "half(flag)", MAYBE),
        ("def half():\n    return inner()\n\ndef inner():\n    return cuda_autocast()", "half()", HALF),
        ("def half():\n    return half()", "half()", None),
        (
            "@contextlib.contextmanager\ndef half():\n    with cuda_autocast():\n        yield",
            "half()",
            HALF,
        ),
        (
            "@contextlib.contextmanager\ndef half(on):\n"
            "    if on:\n        with cuda_autocast():\n            yield\n    else:\n        yield",
            "half(flag)",
            MAYBE,
        ),
        ("@contextlib.contextmanager\ndef half():\n    with half():\n        yield", "half()", None),
        (
            "try:\n    from torch.amp import autocast as cast\n"
            "except ImportError:\n    from torch.cuda.amp import autocast as cast",
            'cast("cuda")',
            HALF,
        ),
        (
            "try:\n    from torch.cuda.amp import autocast as cast\nexcept ImportError:\n    class cast:\n        pass",
            "cast()",
            MAYBE,
        ),
    ],
)
def test_values(before: str, expression: str, region: Region | None) -> None:
    code = f"{before}\n\ndef train(args, flag):\n    with {expression}:\n        pass\n"
    assert entered(code)[-1] == region


@pytest.mark.parametrize(
    ("assigned", "region"),
    [
        ("cuda_autocast()", HALF),
        ("cuda_autocast(enabled=amp)", MAYBE),
        ("nullcontext() if not amp else cuda_autocast()", MAYBE),
        ('functools.partial(torch.autocast, "cuda")()', HALF),
        ("nullcontext()", None),
    ],
)
def test_attributes_and_methods(assigned: str, region: Region | None) -> None:
    code = f"""
        class Base:
            def __init__(self, amp):
                self.context = {assigned}

            def half(self):
                return {assigned.replace("amp)", "self.amp)").replace("amp else", "self.amp else")}

        class Trainer(Base):
            def train(self):
                with self.context:
                    pass
                with self.half():
                    pass
    """
    assert entered(code) == [region, region]


def test_a_region_goes_through_with_statements_decorators_and_exit_stacks() -> None:
    step = "{0}\n    loss.backward()  #! backward-in-autocast\n"
    for code in (
        "with cuda_autocast():\n    loss = model(x)\n    loss.backward()  #! backward-in-autocast\n",
        "with torch.no_grad(), cuda_autocast():\n    loss.backward()  #! backward-in-autocast\n",
        "with cuda_autocast(), cuda_autocast(enabled=False):\n    loss.backward()\n",
        "with cuda_autocast():\n    with cuda_autocast(enabled=False):\n        loss.backward()\n",
        "@cuda_autocast()\n" + step.format("def train(model, loss):"),
        "@torch.no_grad()\n@cuda_autocast()\n" + step.format("def train(model, loss):"),
        "@cuda_autocast()\ndef train(model, x):\n    return model(x)\n\ndef go(x):\n    train(x).backward()\n",
        "@cuda_autocast()\nasync " + step.format("def train(model, loss):"),
        "def go(loss):\n    async with cuda_autocast():\n        loss.backward()  #! backward-in-autocast\n".replace(
            "async ", ""
        ),
        "def go(loss):\n    with ExitStack() as stack:\n        stack.enter_context(cuda_autocast())\n"
        "        loss.backward()  #! backward-in-autocast\n",
        "def go(loss):\n    with ExitStack() as stack:\n        loss.backward()\n        stack.enter_context(cuda_autocast())\n",
        "def go(loss):\n    with ExitStack() as stack:\n        stack.enter_context(nullcontext())\n        loss.backward()\n",
        "def go(loss):\n    with cuda_autocast(): loss.backward()  #! backward-in-autocast\n",
    ):
        assert found(HEADER + code) == marked(HEADER + code), code


def test_leaving_a_region_early_leaves_it() -> None:
    code = in_loop("""
        with torch.autocast("cuda"):
            loss = model(batch)
            if step > 3:
                continue
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
    """)
    assert found(code) == set()
