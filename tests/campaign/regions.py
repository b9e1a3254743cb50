"""The contexts that a forward pass is made in. A new one needs one function with `@context`: it gives the expression to enter."""

from __future__ import annotations

from collections.abc import Callable

from .code import Block
from .scene import Scene

Context = Callable[[Scene], str]
CONTEXTS: list[Context] = []


def context(made: Context) -> Context:
    """File a context."""
    CONTEXTS.append(made)
    return made


def region(scene: Scene) -> str:
    """An expression that makes, or names, the context of a forward pass."""
    return scene.pick(CONTEXTS)(scene) if scene.chance(40) else call(scene)


def autocast(scene: Scene, enabled: bool = True) -> str:
    """A call of `torch.autocast`."""
    flag = ", enabled=amp" if enabled and scene.scaling in ("flag", "optional") else ""
    return f'torch.autocast("{scene.device}", dtype=torch.{scene.dtype}{flag})'


@context
def call(scene: Scene) -> str:
    """A call of `torch.autocast` where it is entered."""
    return autocast(scene)


@context
def variable(scene: Scene) -> str:
    """An instance made before the loop."""
    _prepare(scene, f"context = {autocast(scene)}")
    return "context"


@context
def conditional(scene: Scene) -> str:
    """A context only where AMP is on."""
    if scene.scaling not in ("flag", "optional"):
        return call(scene)
    return f"{autocast(scene, enabled=False)} if amp else contextlib.nullcontext()"


@context
def conditional_variable(scene: Scene) -> str:
    """The same, made before the loop."""
    if scene.scaling not in ("flag", "optional"):
        return variable(scene)
    _prepare(scene, f"maybe_context = {autocast(scene, enabled=False)} if amp else contextlib.nullcontext()")
    return "maybe_context"


@context
def partial(scene: Scene) -> str:
    """`functools.partial`."""
    _prepare(scene, f'autocast = functools.partial(torch.autocast, "{scene.device}", dtype=torch.{scene.dtype})')
    return f"autocast({'enabled=amp' if scene.scaling in ('flag', 'optional') else ''})"


@context
def function(scene: Scene) -> str:
    """A function that returns the context."""
    takes = "amp" if scene.scaling in ("flag", "optional") else ""
    made = Block(f"def precision({takes}):", (f"return {autocast(scene)}",))
    if made not in scene.functions:
        scene.functions.append(made)
    return f"precision({takes})"


def _prepare(scene: Scene, line: str) -> None:
    if line not in scene.setup:
        scene.setup.append(line)
