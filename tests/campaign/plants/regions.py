"""Regions that do not do what they say: AMP202, AMP203, AMP210, AMP214, AMP215."""

from __future__ import annotations

import torch

from ..code import Block, Code, Line
from ..planting import marked, plant
from ..probing import HALVES
from ..program import Program
from ..regions import autocast, region
from ..scene import Scene
from ..showing import Pass, Show


def _passes(shows: tuple[Show, ...]) -> list[Pass]:
    return [one for each in shows for one in each.passes if isinstance(one.module, torch.nn.Linear)]


def evaluated_wide(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether a model gave half outputs in training and float32 ones in evaluation, in one run."""
    for each in shows:
        trained = {id(one.module) for one in _passes((each,)) if one.trains and one.dtype in HALVES}
        if any(id(one.module) in trained for one in _passes((each,)) if not one.trains and one.dtype is torch.float32):
            return True
    return False


@plant("AMP202", evaluated_wide)
def evaluated(scene: Scene) -> None:
    """An evaluation in a region like that of the training, or without."""
    _add_evaluation(scene, "AMP202", "" if scene.chance(50) else autocast(scene))


def _add_evaluation(scene: Scene, code: str, context: str) -> None:
    model = scene.trained[0].model
    call: Line = marked(code, f"predicted = [{model}(batch) for batch in batches]")
    if scene.chance(40):
        call = Block("for batch in batches:", (marked(code, f"predicted = {model}(batch)"),))
    inner: Line = Block(f"with {context}:  # {code}", (call,)) if context else call
    if scene.chance(40) and not scene.in_class and "amp" not in context:
        function = Block(f"def evaluate({model}, batches):", (Block("with torch.no_grad():", (inner,)),))
        scene.functions.append(function)
        scene.slots.last.append(f"evaluate({model}, batches)")
    else:
        scene.slots.last.append(Block("with torch.no_grad():", (inner,)))


def in_both(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether one model gave float16 outputs in one place and bfloat16 ones in another."""
    for each in shows:
        dtypes: dict[int, set[torch.dtype]] = {}
        for one in _passes((each,)):
            if one.dtype in HALVES:
                dtypes.setdefault(id(one.module), set()).add(one.dtype)
        if any(len(found) > 1 for found in dtypes.values()):
            return True
    return False


@plant("AMP203", in_both)
def mixed(scene: Scene) -> None:
    """An evaluation in one half precision or the other."""
    dtype = scene.pick(("float16", "bfloat16"))
    _add_evaluation(scene, "AMP203", f'torch.autocast("cuda", dtype=torch.{dtype})')


def lowers_nothing(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether a model ran in a region that is no half one, and in no half region around that."""
    return any(one.regions and one.regions[0] not in HALVES for one in _passes(shows))


@plant("AMP210", lowers_nothing)
def ineffective(scene: Scene) -> None:
    """A region in float32, as the only one or as an island in another; or a half one."""
    dtype = scene.pick(("float32", "float16", "float64", "bfloat16", "float32"))
    flag = ", enabled=amp" if scene.scaling in ("flag", "optional") else ""
    head = f'with torch.autocast("cuda", dtype=torch.{dtype}{flag}):  # AMP210'
    outer = f"with {region(scene)}:" if scene.chance(25) else ""
    # What float64 regions compute is of another kind than what surrounds them: only the region is looked at.
    scene.slots.around = lambda body: (Block(outer, (Block(head, body),)),) if outer else (Block(head, body),)


def told_nothing(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether a DataParallel model was called in a bfloat16 region."""
    return any(
        torch.bfloat16 in one.regions[-1:]
        for each in shows
        for one in each.passes
        if isinstance(one.module, torch.nn.DataParallel)
    )


@plant("AMP214", told_nothing)
def data_parallel(scene: Scene) -> None:
    """A model in `DataParallel`, or not."""
    model = scene.trained[0].model
    if scene.chance(70):
        scene.slots.made.append(f"{model} = torch.nn.DataParallel({model})")
    flag = ", enabled=amp" if scene.scaling in ("flag", "optional") else ""
    head = f'with torch.autocast("cuda", dtype=torch.{scene.dtype}{flag}):  # AMP214'
    scene.slots.around = lambda body: (Block(head, body),)


def entered_again(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether a region was entered while it was open."""
    return any(each.entered_again for each in shows)


@plant("AMP215", entered_again)
def reentrant(scene: Scene) -> None:
    """A decorated function that calls itself, or one that enters a region of its own each time, or one that ends."""
    head = marked("AMP215", f'@torch.autocast("cuda", dtype=torch.{scene.dtype})')
    again: Code = (
        Block("if depth == 0:", ("return net(given)",)),
        "return net(given) + descend(net, given, depth - 1)",
    )
    context = f'with torch.autocast("cuda", dtype=torch.{scene.dtype}):'
    match scene.pick(("decorated", "with", "once")):
        case "decorated":
            scene.functions += [head, Block("def descend(net, given, depth):", again)]
        case "with":
            scene.functions.append(Block("def descend(net, given, depth):", (Block(context, again),)))
        case _:
            scene.functions += [head, Block("def descend(net, given, depth):", ("return net(given) * depth",))]
    one = scene.trained[0]
    slot = scene.pick((scene.slots.inside, scene.slots.behind))
    slot.append(f"{one.loss} = {one.loss} + descend({one.model}, batch, 2).float().mean()")
