"""A script that is written for a GPU runs without one, and what it asks for beyond that is told."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from forked import torch_amplint
from program import environment

pytest.importorskip("torch", reason="tracing needs torch: pip install 'amplint[verify]'")

TRAINING = """\
import os
import torch
from torch import nn
from torch.nn.parallel import DistributedDataParallel

rank = int(os.environ.get("LOCAL_RANK", 0))
torch.cuda.set_device(rank)
device = torch.device("cuda", rank)
torch.manual_seed(0)
"""
LOOP = """\
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cuda")
for step in range(3):
    with torch.autocast("cuda", dtype=torch.float16):
        loss = model(torch.randn(4, 8).to(rank, non_blocking=True)).square().mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    scaler.step(optimizer)
    scaler.update()
"""
ASKS = """\
assert torch.cuda.get_device_capability() >= (8, 0) and torch.cuda.get_device_properties(0).total_memory
side, start, end = torch.cuda.Stream(), torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
start.record()
with torch.cuda.device(0), torch.cuda.stream(side):
    torch.zeros(2, device=0).record_stream(side)
side.wait_stream(torch.cuda.current_stream())
end.record()
assert start.elapsed_time(end) >= 0
assert torch.accelerator.current_accelerator().type == "cuda"
generator = torch.Generator(device="cuda").manual_seed(0)
assert isinstance(generator, torch.Generator) and isinstance(torch.default_generator, torch.Generator)
with torch.random.fork_rng():
    torch.randn(2, generator=generator, device="cuda")
with torch.device("cuda"):
    torch.zeros(1)
torch.set_default_device("cuda")
torch.zeros(1)
torch.set_default_device(None)
model = nn.DataParallel(nn.Linear(8, 4)).to(0)
torch.save(model.state_dict(), "kept.pt")
assert torch.load("kept.pt", map_location="cuda")["module.weight"].new_tensor(5) == 5
torch.load("kept.pt", map_location=lambda storage, place: storage.cuda(0))
"""


def test_what_scripts_ask_of_a_gpu_is_there(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text(f"{TRAINING}{ASKS}{LOOP}print('end')\n")
    done = torch_amplint("trace", "--device", "cuda-emulated", "train.py", cwd=tmp_path, timeout=300)
    assert (done.returncode, done.stdout) == (0, "end\n"), done.stderr
    assert "Innermost modules gave: float16 100%" in done.stderr
    assert "AMP101" in done.stderr


def test_what_is_not_emulated_is_said(tmp_path: Path) -> None:
    (tmp_path / "train.py").write_text("import torch\n\ntorch.cuda.CUDAGraph()\n")
    done = torch_amplint("trace", "--device", "cuda-emulated", "train.py", cwd=tmp_path, timeout=300)
    assert done.returncode == 1
    assert "more than cuda-emulated has of a GPU" in done.stderr
    (tmp_path / "train.py").write_text("raise ValueError('of its own')\n")
    done = torch_amplint("trace", "--device", "cuda-emulated", "train.py", cwd=tmp_path, timeout=300)
    assert "ValueError: of its own\n" in done.stderr
    assert "cuda-emulated has" not in done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs gloo")
def test_a_script_for_several_gpus_runs_in_as_many_processes(tmp_path: Path) -> None:
    wrapped = (
        "assert torch.cuda.device_count() == 2\ntorch.distributed.init_process_group('nccl', device_id=device)\n"
        "model = DistributedDataParallel(nn.Linear(8, 4).to(device), device_ids=[rank], output_device=rank)\n"
    )
    (tmp_path / "train.py").write_text(f"{TRAINING}{wrapped}{LOOP}torch.distributed.destroy_process_group()\n")
    command = ["torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "amplint", "trace"]
    done = subprocess.run(
        [sys.executable, "-m", *command, "--device", "cuda-emulated", "train.py"],
        cwd=tmp_path, env=environment() | {"OMP_NUM_THREADS": "1"}, capture_output=True, text=True, timeout=300,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    assert (
        done.stderr.count(
            "AMP101 Gradients are clipped before `scaler` unscales them (found by reading and seen 3 times"
        )
        == 2
    )
