"""Dtypes that do not fit together: AMP207, AMP208."""

from __future__ import annotations

from ..code import Block, Line
from ..planting import marked, plant, raised
from ..regions import autocast
from ..scene import Scene


@plant("AMP207", raised("Attempting to unscale FP16 gradients"), scalings=("always", "flag"))
def half_model(scene: Scene) -> None:
    """A model made half, made bfloat16, or left as it is."""
    model = scene.trained[0].model
    cast = scene.pick((".half()", ".to(torch.float16)", ".to(torch.bfloat16)", ".half().float()", ".float()"))
    assigned = f"{model} = {model}" if scene.chance(40) else model
    scene.slots.made.append(marked("AMP207", f"{assigned}{cast}"))
    scene.slots.around = lambda body: (Block(f"with {autocast(scene, enabled=False)}:", body),)


@plant("AMP208", raised("same dtype|scalar type|_fwd_used_autocast"))
def custom_function(scene: Scene) -> None:
    """An `autograd.Function` that multiplies matrices, with the decorators, with one of them, or without."""
    forward, backward = scene.pick(((False, False), (True, True), (False, True), (True, False), (True, True)))
    decorators = [
        'torch.amp.custom_fwd(device_type="cuda")' if forward else "",
        'torch.amp.custom_bwd(device_type="cuda")' if backward else "",
    ]
    bodies = (
        Block("def forward(ctx, given, weight):", ("ctx.save_for_backward(given, weight)", "return given @ weight")),
        Block(
            "def backward(ctx, grad):",
            ("given, weight = ctx.saved_tensors", "return grad @ weight.t(), given.t() @ grad"),
        ),
    )
    lines: list[Line] = []
    for decorator, body in zip(decorators, bodies):
        lines += ["", "@staticmethod", *([f"@{decorator}"] if decorator else []), body]
    scene.functions.append(Block("class Product(torch.autograd.Function):  # AMP208", tuple(lines[1:])))
    one = scene.trained[0]
    product = f"Product.apply(batch.nan_to_num().clamp(-1, 1), {one.model}.weight.t())"
    scene.slots.inside += [f"{one.loss} = {one.loss} + {product}.float().mean()"]
