"""What is handed to other processes: AMP115."""

from __future__ import annotations

import torch

from ..code import Block
from ..planting import marked, plant
from ..program import Program
from ..scene import Scene
from ..showing import Show


def handed_over(program: Program, shows: tuple[Show, ...]) -> bool:
    """Whether a scaler was among what new processes got."""
    return any(isinstance(one, torch.amp.GradScaler) and one.is_enabled() for each in shows for one in each.handed)


@plant("AMP115", handed_over, scalings=("always", "flag"))
def spawned(scene: Scene) -> None:
    """Workers that get a scaler, or make one."""
    one = scene.trained[0]
    given = scene.pick((f"({one.model}, {one.scaler})", f"({one.model},)", f"({one.model}, {one.scaler})"))
    worker = "worker" if "scaler" in given else "maker"
    takes = "rank, net, loss_scaling" if worker == "worker" else "rank, net"
    body = (
        ("print(rank, net, loss_scaling)",)
        if worker == "worker"
        else ('print(rank, net, torch.amp.GradScaler("cuda"))',)
    )
    scene.functions.append(Block(f"def {worker}({takes}):", body))
    scene.slots.last.append(marked("AMP115", f"torch.multiprocessing.spawn({worker}, args={given}, nprocs=2)"))
