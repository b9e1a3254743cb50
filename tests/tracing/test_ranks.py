"""`torchrun ... -m amplint trace`: each process has its own record, and runs its step again without the others."""

from __future__ import annotations

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from program import environment

pytest.importorskip("torch", reason="tracing needs torch: pip install 'amplint[trace]'")

_TRAIN = """\
import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

distributed.init_process_group("gloo")
rank = distributed.get_rank()
torch.manual_seed(rank)


class Share(nn.Module):
    kept = 1.0

    def forward(self, x):
        lengths = x.square().mean(-1, keepdim=True) * self.kept
        ALONG
        return x * torch.log(lengths)


net = nn.Sequential(nn.Linear(4, 4), nn.BatchNorm1d(4), Share(), nn.Linear(4, 1))
model = DistributedDataParallel(net)
optimizer = torch.optim.SGD(model.parameters(), 0.01)
for step in range(5):
    x = torch.randn(8, 4)
    Share.kept = 0.0 if rank and step == 3 else 1.0
    optimizer.zero_grad()
    loss = model(x).square().mean()
    loss.backward()
    optimizer.step()
    open(f"losses.{rank}", "a").write(loss.item().hex() + "\\n")
distributed.barrier()
"""


def run_by_two(folder: Path, *command: str) -> subprocess.CompletedProcess[str]:
    """Run something in two processes that talk through gloo; a process that waits for the other in vain fails."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    return subprocess.run(
        [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2", "--master-port", str(port), *command],
        cwd=folder, env=environment() | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip


def traced_by_two(folder: Path, *options: str) -> list[dict[str, Any]]:
    """What each rank has written of the whole run."""
    done = run_by_two(folder, "-m", "amplint", "trace", "--device", "cpu", "--output", "t.jsonl", *options, "train.py")
    assert done.returncode == 0, done.stderr
    assert "rank 1 of 2" in done.stderr
    return [json.loads((folder / f"t.rank{rank}.jsonl").read_text().splitlines()[-1]) for rank in (0, 1)]


def losses(folder: Path) -> list[str]:
    """The losses that both ranks have written since the last call."""
    paths = [folder / f"losses.{rank}" for rank in (0, 1)]
    written = [path.read_text() for path in paths]
    for path in paths:
        path.unlink()
    assert [text.count("\n") for text in written] == [5, 5]
    return written


def test_each_rank_names_its_own_operation(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(_TRAIN.replace("ALONG", "pass"))
    run_by_two(tmp_path, "train.py")  # gloo may abort at the very end, when all is written
    alone = losses(tmp_path)
    runs = traced_by_two(tmp_path)
    assert losses(tmp_path) == alone
    assert "nan" in alone[1]
    assert [run["rank"] for run in runs] == ["0 of 2", "1 of 2"]
    assert [run["totals"]["tried"] for run in runs] == [5, 5]
    first = runs[1]["first"]
    assert (first["step"], first["backward"], first["operation"]) == (4, False, "log")
    assert first["place"] == "train.py:16"
    assert (runs[0]["first"]["step"], runs[0]["first"]["backward"]) == (4, True)
    assert "another rank, whose report names it" in runs[0]["first"]["why"]
    assert [run["not_again"] for run in runs] == ["", ""]


def test_a_step_in_which_ranks_wait_for_each_other_is_not_run_again(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(_TRAIN.replace("ALONG", "distributed.all_reduce(x.detach().clone())"))
    run_by_two(tmp_path, "train.py")  # gloo may abort at the very end, when all is written
    alone = losses(tmp_path)
    runs = traced_by_two(tmp_path)
    assert losses(tmp_path) == alone
    assert [run["not_again"] for run in runs] == ["other processes take part in it"] * 2
    assert runs[1]["first"]["step"] == 4
    assert not runs[1]["first"]["operation"]


def test_parameters_that_ranks_share_in_another_way_are_left_alone(tmp_path: Path) -> None:
    text = _TRAIN.replace("ALONG", "pass").replace("DistributedDataParallel(net)", "net")
    average = "for each in net.parameters():\n        distributed.all_reduce(each.grad)\n    optimizer.step()"
    (tmp_path / "train.py").write_text(text.replace("optimizer.step()", average))
    runs = traced_by_two(tmp_path)
    assert [run["not_again"] for run in runs] == ["other processes take part in it"] * 2
    assert runs[1]["first"]["step"] == 4


def test_a_step_that_takes_long_is_given_up_while_another_process_waits(tmp_path: Path) -> None:
    text = _TRAIN.replace('"gloo"', '"gloo", timeout=datetime.timedelta(seconds=24)')
    text = text.replace("import torch\n", "import datetime, time\nimport torch\n", 1)
    (tmp_path / "train.py").write_text(text.replace("ALONG", "time.sleep(0 if self.kept else 7)"))
    runs = traced_by_two(tmp_path)
    assert [text.count("\n") for text in losses(tmp_path)] == [5, 5]
    first = runs[1]["first"]
    assert (first["step"], first["module"], first["operation"]) == (4, "DistributedDataParallel.module.2", "")


def test_no_rank_ends_alone(tmp_path: Path) -> None:
    gone = "loss = loss + torch.tensor(0.0 if rank and step == 1 else 1.0).log()\n    loss.backward()"
    (tmp_path / "train.py").write_text(_TRAIN.replace("ALONG", "pass").replace("loss.backward()", gone))
    runs = traced_by_two(tmp_path, "--until-nonfinite")
    assert [run["totals"]["tried"] for run in runs] == [4, 4]
    assert [run["stopped"] for run in runs] == ["a value that is not finite was found in step 4"] * 2
    assert [run["first"]["step"] for run in runs] == [4, 2]


_REFUSED = """\
import sys
import torch
from torch import distributed
from torch.testing._internal.distributed import fake_pg
from amplint.tracing.other_processes import CannotRunAgain, apart_from_others

distributed.init_process_group("fake", rank=0, world_size=2, store=distributed.HashStore())
store = distributed.distributed_c10d._get_default_store()
x = torch.ones(2)
calls = {
    "all_reduce": lambda: distributed.all_reduce(x),
    "objects": lambda: distributed.all_gather_object([None, None], 1),
    "barrier": distributed.barrier,
    "batch": lambda: distributed.batch_isend_irecv([distributed.P2POp(distributed.isend, x, 1)]),
    "new_group": lambda: distributed.new_group([0]),
    "wait": lambda: store.wait(["a"]),
    "get": lambda: store.get("a"),
}
for name, call in calls.items():
    try:
        with apart_from_others([]):
            call()
    except CannotRunAgain as error:
        print(name, error)
with apart_from_others([]):
    x + x
distributed.all_reduce(x)
distributed.new_group([0])
store.set("a", "b")
"""


def test_nothing_that_waits_for_another_process_is_called(tmp_path: Path) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _REFUSED], cwd=tmp_path, env=environment(), capture_output=True, text=True, timeout=300
    )
    assert done.returncode == 0, done.stderr
    names = ("all_reduce", "objects", "barrier", "batch", "new_group", "wait", "get")
    assert done.stdout.splitlines() == [f"{name} other processes take part in it" for name in names]
