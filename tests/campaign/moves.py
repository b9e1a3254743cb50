"""The moves of an iteration, in the order in which the textbook makes them."""

from __future__ import annotations

from .code import Block, Code, Line, Move
from .regions import region
from .scene import Scene, Trained


def textbook(scene: Scene) -> list[Move]:
    """A right iteration."""
    several = len(scene.trained) > 1
    # Several models are trained one after the other, or all passes come before all steps.
    by_phase = several and scene.chance(50)
    passes = [[*_passes(scene, each)] for each in scene.trained]
    steps = [[*_steps(scene, each)] for each in scene.trained]
    zeros = [zero(scene, each) for each in scene.trained]
    late_zero = scene.accumulation > 1 or scene.chance(30)
    first: list[Move] = []
    for zeroed, passed, stepped in zip(zeros, passes, steps):
        before = [] if late_zero else [zeroed]
        after = [zeroed] if late_zero else []
        first += [*before, *passed] if by_phase else [*before, *passed, *stepped, *after]
    if by_phase:
        for zeroed, stepped in zip(zeros, steps):
            first += [*stepped, *([zeroed] if late_zero else [])]
    asked, ends = ending(scene)
    if late_zero and not several:
        return [*asked, *first[:-1], *ends, first[-1]]
    return [*asked, *first, *ends]


def zero(scene: Scene, trained: Trained) -> Move:
    """Clear the gradients."""
    owner = scene.pick((trained.optimizer, trained.optimizer, trained.model))
    return Move("zero", (f"{owner}.zero_grad({scene.pick(('', 'set_to_none=True'))})",))


def _passes(scene: Scene, trained: Trained) -> list[Move]:
    first = [forward(scene, trained), backward(scene, trained)]
    return [*first, forward(scene, trained), backward(scene, trained)] if scene.chance(8) else first


def forward(scene: Scene, trained: Trained) -> Move:
    """The forward pass in its region."""
    loss = scene.pick(
        (
            f"{trained.loss} = {trained.model}(batch).mean()",
            f"{trained.loss} = {trained.model}(batch).float().abs().mean()",
            f"{trained.loss} = torch.nn.functional.l1_loss({trained.model}(batch).float(), torch.ones(len(batch), 1))",
        )
    )
    slots = scene.slots
    if scene.chance(10) and not (slots.inside or slots.behind or slots.around):
        return Move("forward", (decorated(scene, trained, loss),))
    body: Code = (loss, *slots.inside)
    code: list[Line] = list(slots.around(body)) if slots.around else [Block(f"with {region(scene)}:", body)]
    code += slots.behind
    slots.inside, slots.behind = [], []
    if scene.accumulation > 1:
        code.append(f"{trained.loss} = {trained.loss} / {scene.accumulation}")
    return Move("forward", tuple(code))


def decorated(scene: Scene, trained: Trained, loss: str) -> str:
    """The forward pass in a decorated function; the call that stands in its place."""
    enabled = ", enabled=False" if scene.chance(10) else ""
    region = f'@torch.autocast("{scene.device}", dtype=torch.{scene.dtype}{enabled})'
    name = f"compute_{len(scene.functions)}"
    body: Code = (loss, f"return {trained.loss}")
    scene.functions += [region, Block(f"def {name}({trained.model}, batch):", body)]
    return f"{trained.loss} = {name}({trained.model}, batch)"


def backward(scene: Scene, trained: Trained) -> Move:
    """The backward pass."""
    plain: Code = (f"{trained.loss}.backward()",)
    if not trained.scaler:
        return Move("backward", plain)
    scaling = f"{trained.scaler}.scale({trained.loss})"
    if not scene.chance(10):
        return Move("backward", (f"{scaling}.backward()",), plain)
    kept = scene.pick((trained.loss, "scaled"))
    code: Code = (f"scaled = {scaling}", "scaled.backward()", f"losses.append({kept}.item())")
    return Move("backward", code, (*plain, f"losses.append({trained.loss}.item())"))


def _steps(scene: Scene, trained: Trained) -> list[Move]:
    moves: list[Move] = []
    if scene.chance(60):
        if trained.scaler:
            moves.append(Move("unscale", (f"{trained.scaler}.unscale_({trained.optimizer})",), ()))
        if scene.chance(80):
            moves.append(clip(scene, trained))
        if scene.chance(15):
            moves.append(reading(scene, trained))
    closure = "lambda: None" if scene.chance(4) else ""
    plain: Code = (f"{trained.optimizer}.step({closure})",)
    given = f"{trained.optimizer}, {closure}" if closure else trained.optimizer
    stepped = (f"{trained.scaler}.step({given})",) if trained.scaler else plain
    return [*moves, Move("step", stepped, plain)]


def clip(scene: Scene, trained: Trained) -> Move:
    """Gradients clipped: by norm, by value, by hand."""
    parameters = f"{trained.model}.parameters()"
    clamp = Block("if parameter.grad is not None:", ("parameter.grad.clamp_(-0.1, 0.1)",))
    by_hand: Line = Block(f"for parameter in {parameters}:", (clamp,))
    options: tuple[Line, ...] = (
        f"torch.nn.utils.clip_grad_norm_({parameters}, 1.0)",
        f"torch.nn.utils.clip_grad_norm_({parameters}, max_norm=0.5)",
        f"torch.nn.utils.clip_grad_value_({parameters}, 0.5)",
        by_hand,
        f"torch.nn.utils.clip_grad_norm_({parameters}, 1.0, error_if_nonfinite=True)",
    )
    line = scene.pick(options if scene.slots.raises else options[:-1])
    return Move("clip", (line,))


def reading(scene: Scene, trained: Trained) -> Move:
    """The norm of the gradients, measured by hand."""
    held = f"parameter in {trained.model}.parameters() if parameter.grad is not None"
    return Move("read", (f"norm = sum(parameter.grad.norm().item() for {held})",))


def ending(scene: Scene) -> tuple[list[Move], list[Move]]:
    """The scaler's update and the scheduler; and, for the start of the iteration, what its gate asks."""
    moves = [Move("update", (f"{scaler}.update()",), ()) for scaler in scene.scalers]
    if scene.scheduled != "iteration":
        return [], moves
    schedule: Code = ("scheduler.step()",)
    if not scene.scalers or (not scene.slots.gated and scene.chance(40)):
        return [], [*moves, Move("schedule", schedule)]
    scaler = scene.trained[-1].scaler
    before = Move("ask", (f"scale_before = {scaler}.get_scale()",), ("scale_before = 1.0",))
    gate = Block(f"if {scene.slots.gate.format(f'{scaler}.get_scale()')}:", schedule)
    return [before], [*moves, Move("schedule", (gate,), schedule)]
