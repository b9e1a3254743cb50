"""Regions and scalers that are made in the wrong way: AMP204, AMP205, AMP209, AMP213."""

from __future__ import annotations

from collections.abc import Callable

from ..code import Block, Code
from ..planting import marked, plant, raised
from ..program import Program
from ..scene import Scene
from ..showing import Show


def _head(scene: Scene, code: str, call: str) -> Callable[[Code], Code]:
    """A forward pass in this region."""
    return lambda body: (Block(f"with {call}:  # {code}", body),)


def not_entered(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether a context was made and never entered, or what was entered is no context."""
    protocol = any("context manager protocol" in each.error or "__enter__" in each.error for each in shows)
    return protocol or any(each.never_entered for each in shows)


@plant("AMP204", not_entered)
def named_only(scene: Scene) -> None:
    """The class in a `with` statement, a call that stands alone, or a region that is entered."""
    call = f'torch.autocast("cuda", dtype=torch.{scene.dtype})'
    match scene.pick(("class", "alone", "entered", "variable")):
        case "class":
            scene.slots.around = _head(scene, "AMP204", "torch.autocast")
        case "alone":
            scene.slots.around = lambda body: (marked("AMP204", call), *body)
        case "entered":
            scene.slots.around = _head(scene, "AMP204", call)
        case _:
            scene.slots.around = lambda body: (marked("AMP204", f"entered = {call}"), Block("with entered:", body))


@plant("AMP205", raised("device_type"))
def without_device(scene: Scene) -> None:
    """A region that is not told its device type, or is told a device."""
    dtype = f"dtype=torch.{scene.dtype}"
    call = scene.pick(
        (
            f"torch.autocast({dtype})",
            f'torch.autocast(torch.device("cuda"), {dtype})',
            f"torch.autocast(torch.{scene.dtype})",
            f'torch.autocast("cuda", {dtype})',
            f'torch.autocast(torch.device("cuda").type, {dtype})',
            f'torch.autocast(device_type="cuda", {dtype})',
        )
    )
    scene.slots.around = _head(scene, "AMP205", call)


def warned(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether PyTorch has warned that something is deprecated."""
    return any(each.warned for each in shows)


@plant("AMP209", warned)
def deprecated(scene: Scene) -> None:
    """A region of `torch.cuda.amp`, with its arguments in any form, or of `torch.amp`."""
    flag = scene.pick(("enabled=amp, ", "amp, ")) if scene.scaling in ("flag", "optional") else ""
    keyword = flag if flag.startswith("enabled") or not flag else f"enabled={flag}"
    dtype = f"dtype=torch.{scene.dtype}"
    call = scene.pick(
        (
            f"torch.cuda.amp.autocast({flag}{dtype})",
            f'torch.amp.autocast("cuda", {keyword}{dtype})',
            f"torch.cuda.amp.autocast({keyword}cache_enabled=True)",
            f"torch.autocast({keyword}device_type='cuda')",
        )
    )
    scene.slots.around = _head(scene, "AMP209", call)


def misplaced(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether an argument was refused for its type, or has become the device of a scaler."""
    return raised("must be torch.dtype|expected torch.dtype|torch.dtype, not")(program, shows) or any(
        each.misplaced for each in shows
    )


@plant("AMP213", misplaced, scalings=("always", "flag"))
def by_position(scene: Scene) -> None:
    """An argument by position, in its place or in another's."""
    scaler = scene.trained[0].scaler
    amp = "amp" if scene.scaling == "flag" else "True"
    region = scene.pick(
        (
            f'torch.amp.autocast("cuda", {amp})',
            f'torch.amp.autocast("cuda", torch.{scene.dtype}, {amp})',
            f'torch.amp.autocast("cuda", torch.{scene.dtype})',
        )
    )
    scene.slots.around = _head(scene, "AMP213", region)
    made = scene.pick(
        ("torch.amp.GradScaler(1024.0)", 'torch.amp.GradScaler("cuda", 1024.0)', 'torch.amp.GradScaler("cuda")')
    )
    scene.slots.made.append(marked("AMP213", f"{scaler} = {made}"))
