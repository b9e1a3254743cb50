"""What gradients are read for. Each program is marked where a reading comes out differently while they are scaled."""

from __future__ import annotations

from textwrap import indent

import pytest
from lowered import found, in_loop, marked

READ = "#! grad-read-before-unscale"

MATTERS = {
    "the norm of one parameter": f"print(model.weight.grad.norm())  {READ}",
    "a sum over a loop": f"""
total = 0.0
for p in model.parameters():
    total += p.grad.data.norm(2).item() ** 2  {READ}
log("norm", total ** 0.5)
""",
    "stacked": f"""
norm = torch.norm(torch.stack([torch.norm(p.grad.detach(), 2) for p in model.parameters()]), 2)  {READ}
wandb.log({{"norm": norm}})
""",
    "a list of them": f"""
grads = [p.grad for p in model.parameters() if p.grad is not None]
norms = torch._foreach_norm(grads)  {READ}
print(norms)
""",
    "an alias": f"""
for p in model.parameters():
    g = p.grad
    history.append(g.abs().max().item())  {READ}
""",
    "a histogram": f"""
for name, p in model.named_parameters():
    writer.add_histogram(name, p.grad, step)  {READ}
""",
    "an f-string": f'print(f"mean {{model.weight.grad.mean():.3f}}")  {READ}',
    "a threshold": f"""
if max(p.grad.abs().max() for p in model.parameters()) > 100:  {READ}
    print("exploding")
""",
    "an infinite clip": f"""
norm = torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf"))  {READ}
writer.add_scalar("norm", norm, step)
""",
    "kept": f"norms[step] = model.weight.grad.norm()  {READ}",
    "weight decay by hand": f"""
for p in model.parameters():
    p.grad += 0.01 * p.data  {READ}
""",
    "noise": f"""
for p in model.parameters():
    p.grad.add_(torch.randn_like(p.grad), alpha=0.1)  {READ}
""",
}

DOES_NOT = {
    "finiteness": 'bad = not all(torch.isfinite(p.grad).all() for p in model.parameters())\nprint("bad", bad)',
    "finiteness of a norm": """
norm = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
if torch.isnan(norm) or norm.isinf():
    print("overflow")
""",
    "compared with infinity": """
total = sum(p.grad.norm() for p in model.parameters())
if total == float("inf"):
    print("overflow")
""",
    "None": "missing = [name for name, p in model.named_parameters() if p.grad is None]\nprint(missing)",
    "zero": "dead = sum((p.grad.abs().sum() == 0).item() for p in model.parameters())\nprint(dead)",
    "shape and device": "print(model.weight.grad.shape, model.weight.grad.device)",
    "divided by the scale": "print(model.weight.grad.norm() / scaler.get_scale())",
    "divided by a name of the scale": """
scale = scaler.get_scale()
norm = model.weight.grad.norm() / scale
print(norm)
""",
    "a ratio": "print(model.weight.grad.norm() / model.bias.grad.norm())",
    "unscaled first": "scaler.unscale_(optimizer)\nprint(model.weight.grad.norm())",
    "collected, unscaled, measured": """
grads = [p.grad for p in model.parameters()]
scaler.unscale_(optimizer)
print(torch._foreach_norm(grads))
""",
    "averaged over ranks": "for p in model.parameters():\n    p.grad.div_(world_size)",
    "added up from elsewhere": "for p, g in zip(model.parameters(), kept):\n    p.grad.add_(g)",
    "copied": "kept = [p.grad.clone() for p in model.parameters()]",
    "after the step": "scaler.step(optimizer)\nprint(model.weight.grad.norm())\nscaler.update()\ncontinue",
    "an infinite clip that nobody asks": 'torch.nn.utils.clip_grad_norm_(model.parameters(), float("inf"))',
}


def program(body: str) -> str:
    return in_loop(f"scaler.scale(loss).backward()\n{body}\nscaler.step(optimizer)\nscaler.update()")


@pytest.mark.parametrize("body", (MATTERS | DOES_NOT).values(), ids=(MATTERS | DOES_NOT).keys())
def test_what_a_reading_is_for(body: str) -> None:
    assert found(program(body)) == marked(program(body))
    assert (READ in body) is (body in MATTERS.values())


HELPER = """
def grad_norm(module):
    total = 0.0
    for p in module.parameters():
        total += p.grad.norm().item() ** 2  {mark}
    return total ** 0.5
"""


@pytest.mark.parametrize(
    ("use", "matters"),
    [
        ("print(grad_norm(model))", True),
        ("norm = grad_norm(model)\nwriter.add_scalar('norm', norm)", True),
        ("if not math.isfinite(grad_norm(model)):\n    print('overflow')", False),
        ("scaler.unscale_(optimizer)\nprint(grad_norm(model))", False),
    ],
)
def test_through_a_helper(use: str, matters: bool) -> None:
    before = HELPER.format(mark=READ if matters else "")
    code = in_loop(f"scaler.scale(loss).backward()\n{use}\nscaler.step(optimizer)\nscaler.update()", before=before)
    assert found(code) == marked(code)


def test_a_norm_that_becomes_the_coefficient_of_a_clip_belongs_to_the_clip() -> None:
    body = """
    total = torch.stack([p.grad.norm() for p in model.parameters()]).norm()
    clip_coef = 1.0 / (total + 1e-6)
    if clip_coef < 1:
        for p in model.parameters():
            p.grad.mul_(clip_coef)  #! clip-before-unscale
    """
    code = in_loop(
        "scaler.scale(loss).backward()\n" + indent(body.replace("\n    ", "\n"), "") + "\nscaler.step(optimizer)"
    )
    assert {kind for _, kind in found(code)} == {"clip-before-unscale", "missing-update"}
