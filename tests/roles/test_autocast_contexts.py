"""Which region a context manager enters, whatever way it takes there."""

from __future__ import annotations

from textwrap import dedent

import libcst as cst
import pytest
from lowered import file_of, found, in_loop, marked

from amplint.model.events import NO_GRAD, Region
from amplint.roles.region_settings import UNKNOWN_REGION

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
        ("cuda_autocast(*flag)", Region("cuda", "?", "maybe")),
        ("cuda_autocast(**flag)", Region("cuda", "?", "maybe")),
        ("autocast(**flag)", UNKNOWN_REGION),
        ('autocast("cuda", dtype=torch.bfloat16, **flag)', Region("cuda", "bfloat16", "maybe")),
        ("cuda_autocast(enabled=False, **flag)", Region("cuda", "?", "no")),
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


@pytest.mark.parametrize(
    ("before", "region"),
    [
        ('options = {"dtype": torch.bfloat16}', BRAIN),
        ('options = dict(dtype=torch.bfloat16, device_type="cuda")', BRAIN),
        ('shared = {"dtype": torch.bfloat16}\noptions = {**shared, "enabled": False}', Region("cuda", "bfloat16", "no")),
        ("options = {} if fast else dict(dtype=torch.bfloat16)", Region("cuda", "half", "yes")),
        ("options = get()\ndef get():\n    return dict(dtype=torch.bfloat16)", BRAIN),
        ("options = {}", HALF),
        # What may be written into, or has an unknown part, may hold anything.
        ('options = {}\noptions["dtype"] = torch.bfloat16', Region("cuda", "?", "maybe")),
        ("options = dict(dtype=torch.bfloat16)\noptions.update(more)", Region("cuda", "?", "maybe")),
        ("options = dict(enabled=False)\nfill(options)", Region("cuda", "?", "maybe")),
        ("options = dict(dtype=torch.bfloat16, **more)", Region("cuda", "bfloat16", "maybe")),
        ('options = {key: True}', Region("cuda", "?", "maybe")),
        ("options = {}\nfor key in more:\n    options[key] = more[key]", Region("cuda", "?", "maybe")),
        ("from settings import options", Region("cuda", "?", "maybe")),
    ],
)  # fmt: skip
def test_options_that_are_unpacked(before: str, region: Region) -> None:
    assert entered_by("cuda_autocast(**options)", before) == region


@pytest.mark.parametrize("attribute", ["self.options", "self.cast"])
def test_options_of_an_object(attribute: str) -> None:
    written = "    def reset(self):\n        self.cast['dtype'] = torch.float16\n"
    (region,) = entered(f"""
class Trainer:
    def __init__(self):
        self.options = self.cast = {{"dtype": torch.bfloat16}}

{written}
    def train(self):
        with cuda_autocast(**{attribute}):
            pass
""")
    assert region == (BRAIN if attribute == "self.options" else Region("cuda", "?", "maybe"))


@pytest.mark.parametrize(
    ("helper", "call", "region"),
    [
        ('def half(**kwargs):\n    return autocast("cuda", **kwargs)', "half(dtype=torch.bfloat16)", BRAIN),
        ('def half(**kwargs):\n    return autocast("cuda", **kwargs)', "half(enabled=False)", OFF),
        ('def half(**kwargs):\n    return autocast("cuda", **kwargs)', "half()", HALF),
        ('def half(**kwargs):\n    return autocast("cuda", **kwargs)', "half(**flag)", Region("cuda", "?", "maybe")),
        ('def half(device="cuda", **kwargs):\n    return autocast(device, **kwargs)', "half(enabled=flag)", MAYBE),
        ('def half(device="cuda", **kwargs):\n    return autocast(device, **kwargs)', 'half("cpu", enabled=flag)',
         Region("cpu", "bfloat16", "maybe")),
        ("def half(on=True, dtype=None):\n    return cuda_autocast(on, dtype)", "half(dtype=torch.bfloat16)", BRAIN),
        ("def half(on=True, dtype=None):\n    return cuda_autocast(on, dtype)", "half(False)", OFF),
        ("def half(on):\n    on = on and usable()\n    return cuda_autocast(on)", "half(True)", MAYBE),
        ("def half(enabled):\n    enabled = enabled and usable()\n    return cuda_autocast(enabled)", "half(enabled=False)", OFF),
        ("def half(**kwargs):\n    kwargs['dtype'] = torch.bfloat16\n    return cuda_autocast(**kwargs)", "half()",
         Region("cuda", "?", "maybe")),
        ("def half(*args):\n    return cuda_autocast(*args)", "half(False)", Region("cuda", "?", "maybe")),
        ("def inner(**kwargs):\n    return cuda_autocast(**kwargs)\ndef half(**kwargs):\n    return inner(**kwargs)",
         "half(dtype=torch.bfloat16)", BRAIN),
    ],
)  # fmt: skip
def test_helpers_hand_their_arguments_on(helper: str, call: str, region: Region) -> None:
    assert entered_by(call, helper) == region


def test_a_dtype_that_a_function_chooses() -> None:
    chooses = "def chosen(name):\n    return torch.bfloat16 if name == 'bf16' else torch.float16"
    assert entered_by("cuda_autocast(dtype=chosen(args.precision))", chooses) == Region("cuda", "half", "yes")
    unknown = "def chosen(name):\n    return getattr(torch, name)"
    assert entered_by("cuda_autocast(dtype=chosen(args.precision))", unknown) == Region("cuda", "?", "yes")
    none = "def chosen(name):\n    if name == 'fp32':\n        return None\n    return torch.bfloat16"
    assert entered_by("cuda_autocast(dtype=chosen(args.precision))", none) == Region("cuda", "?", "yes")


def test_a_context_manager_hands_its_arguments_on() -> None:
    manager = "@contextlib.contextmanager\ndef half(**kwargs):\n    with cuda_autocast(**kwargs):\n        yield\n"
    unknown, region = entered(f"{manager}with half(dtype=torch.bfloat16):\n    pass")
    assert unknown == Region("cuda", "?", "maybe")
    assert region == BRAIN


@pytest.mark.parametrize("line", ["part, dot, _ = part.partition('.')", "part = part.half()"])
def test_names_that_lead_back_to_themselves_enter_nothing(line: str) -> None:
    assert entered(f"part = open('part')\n{line}\nwith part.region():\n    pass\nwith part:\n    pass\n") == [
        None,
        None,
    ]


@pytest.mark.parametrize(
    ("behind", "dtype"),
    [
        ("scaler.scale(loss).backward()", "float16"),
        ("loss_scaler.unscale_(opt)", "float16"),
        ("loss.backward()", "half"),
    ],
)
def test_a_loop_that_scales_has_float16_in_mind(behind: str, dtype: str) -> None:
    code = f"""
        def train(model, x, opt, device, scaler, loss_scaler):
            with torch.autocast(device_type=str(device)):
                loss = model(x)
            {behind}
    """
    assert entered(code) == [Region("?", dtype, "yes")]
