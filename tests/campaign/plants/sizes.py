"""What the hardware wants: AMP401 to AMP404."""

from __future__ import annotations

import torch

from ..planting import marked, plant
from ..probing import HALVES
from ..program import Program
from ..scene import Scene
from ..showing import Pass, Show


def _in_half(shows: tuple[Show, ...], *kinds: type[torch.nn.Module]) -> list[Pass]:
    return [one for each in shows for one in each.passes if isinstance(one.module, kinds) and one.dtype in HALVES]


def _misaligned(sizes: list[tuple[int, int]]) -> bool:
    """Whether a size that one layer gives and the next takes is no multiple of 8."""
    return any(out % 8 != 0 and out >= 32 and out == given for (_, out), (given, _) in zip(sizes, sizes[1:]))


def misaligned_linear(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether two linear layers ran in half, one after the other, with such a size between them."""
    return _misaligned([one.module.weight.shape[::-1] for one in _in_half(shows, torch.nn.Linear)])


def _run(scene: Scene, name: str, made: str, data: str) -> None:
    """A model that is made before the loop, and run in a region of the forward pass."""
    scene.setup.append(made)
    one = scene.trained[0]
    scene.slots.inside += [f"{one.loss} = {one.loss} + {name}({data}).float().mean()"]


@plant("AMP401", misaligned_linear)
def hidden_size(scene: Scene) -> None:
    """Hidden sizes of linear layers."""
    size = scene.pick((128, 100, 250, 256, 500))
    layers = f"torch.nn.Linear(2, 256), torch.nn.Linear(256, {size}), torch.nn.ReLU(), torch.nn.Linear({size}, 3)"
    _run(scene, "net", marked("AMP401", f"net = torch.nn.Sequential({layers})"), "batch")


def misaligned_channels(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether two convolutions ran in half with such a number of channels between them."""
    shapes = [one.module.weight.shape for one in _in_half(shows, torch.nn.Conv1d)]
    return _misaligned([(shape[1], shape[0]) for shape in shapes])


@plant("AMP402", misaligned_channels)
def channels(scene: Scene) -> None:
    """Channels between convolutions."""
    size = scene.pick((64, 60, 36, 32, 100))
    layers = f"torch.nn.Conv1d(1, {size}, 1), torch.nn.Conv1d({size}, 64, 1), torch.nn.Conv1d(64, 1, 1)"
    _run(scene, "net", marked("AMP402", f"net = torch.nn.Sequential({layers})"), "batch.unsqueeze(1)")


def unasked(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether a model ran in bfloat16, and nothing in the program chooses or asks."""
    chosen = "is_bf16_supported(including_emulation=False)" in program.text or (
        "amp" in program.flags and "@torch.autocast" not in program.text
    )
    return not chosen and any(torch.bfloat16 in one.regions for each in shows for one in each.passes)


@plant("AMP403", unasked, observed=False, anywhere=True, dtypes=("bfloat16",))
def unchecked(scene: Scene) -> None:
    """Regions that ask for the hardware or not."""
    if scene.chance(40):
        scene.setup.append("native = torch.cuda.is_bf16_supported(including_emulation=False)")


def tiny(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether the model of linear layers that ran in half has fewer than 65536 weights."""
    return any(
        sum(weight.numel() for weight in one.module.parameters()) < 65536
        and any(weight.requires_grad for weight in one.module.parameters())
        for each in shows
        for one in each.passes
        if isinstance(one.module, torch.nn.Sequential) and any(dtype in HALVES for dtype in one.regions)
    )


@plant("AMP404", tiny)
def few_weights(scene: Scene) -> None:
    """A small model and a larger one."""
    size = scene.pick((16, 64, 320))
    scene.trained = scene.trained[:1]
    layers = f"torch.nn.Linear(2, {size}), torch.nn.ReLU(), torch.nn.Linear({size}, {size}), torch.nn.Linear({size}, 1)"
    scene.slots.model = marked("AMP404", f"torch.nn.Sequential({layers})")
