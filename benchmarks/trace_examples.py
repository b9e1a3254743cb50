"""Example scripts of others, with `amplint trace` and without: what they learn must be the same to the last bit.

    python benchmarks/trace_examples.py --clones FOLDER [--only NAME]

In the folder lie clones of pytorch/examples, of nanoGPT, minGPT, makemore and llm.c of karpathy, and of
milesial/Pytorch-UNet, huggingface/pytorch-image-models, lucidrains/x-transformers, zhouhaoyi/Informer2020, sthalles/SimCLR
and karpathy/ng-video-lecture, all of github.com; numpy, matplotlib, gymnasium, torchvision, and what these repositories ask
for, must be there. Each script gets a seed and a little random data, and runs twice, each time in a process of its own;
scripts that train in float16 run under `--device cuda-emulated`, and the other time under the same emulation without a trace.
Every loss that is propagated, and all weights after each step, are hashed. A row of a table tells what came of it, what
`amplint` finds in the script and the files beside it, and what the trace has seen.
"""

from __future__ import annotations

import argparse
import json
import os
import pickle
import random
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import NamedTuple

from amplint.runtime.device_names import EMULATED

_SEEDED = """\
import hashlib, os, random, runpy, sys, types
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
try:
    from torch.utils.tensorboard import SummaryWriter
except ImportError:  # where a script only writes its losses to
    class SummaryWriter:
        log_dir = "."
        def __init__(self, *args, **kwargs): pass
        def __getattr__(self, name): return lambda *args, **kwargs: None
    sys.modules["torch.utils.tensorboard"] = types.SimpleNamespace(SummaryWriter=SummaryWriter)
class Silent:  # what scripts ask of a service
    def __getattr__(self, name): return Silent()
    def __call__(self, *args, **kwargs): return Silent()
sys.modules["wandb"] = sys.modules["tiktoken"] = Silent()
import numpy, torch.library
numpy.Inf = numpy.inf  # which NumPy 2 calls so alone
boxes = torch.library.Library("torchvision", "FRAGMENT")  # a torchvision for CUDA lacks them beside a PyTorch without
for name in ("nms", "qnms"):
    try:
        boxes.define(name + "(Tensor dets, Tensor scores, float iou_threshold) -> Tensor")
    except RuntimeError:
        pass
if os.path.exists("datasets/cifar-10-batches-py"):  # random ones, which no checksum knows
    import torchvision.datasets.cifar
    torchvision.datasets.cifar.check_integrity = lambda *given: True
if "EMULATED" in os.environ:
    from amplint.tracing.cuda_scripts import cuda_on_cpu
    kept_open = cuda_on_cpu()
    kept_open.__enter__()
random.seed(0)
torch.manual_seed(0)
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
steps, losses, weights = 0, [], hashlib.sha256()
def count(optimizer, args, kwargs):
    global steps
    for group in optimizer.param_groups:
        for one in group["params"]:
            weights.update(one.detach().numpy().tobytes())
    steps += 1
    if steps == 25:
        raise SystemExit  # some go on until they have learned
register_optimizer_step_post_hook(count)
# As torch's own code: the trace is to see the line of the script, not this one.
exec(compile('''
def backward(tensors, *args, **kwargs):
    losses.append(tensors.detach().double().numpy().tobytes())
    return original(tensors, *args, **kwargs)
''', torch.__file__, "exec"), kept := {"losses": losses, "original": torch.autograd.backward})
torch.autograd.backward = kept["backward"]
try:
    runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit:
    pass
print("LEARNED", steps, len(losses), hashlib.sha256(b"".join(losses)).hexdigest(), weights.hexdigest())
"""


class _Example(NamedTuple):
    repository: str
    script: str
    arguments: tuple[str, ...] = ()
    device: str = "cpu"
    has_pictures: bool = False
    """Whether it reads CIFAR-10."""


def _examples(data: Path) -> dict[str, _Example]:
    words = ("--data", str(data / "words"), "--epochs", "1", "--emsize", "32", "--nhid", "32", "--batch_size", "8",
             "--bptt", "8", "--save", str(data / "model.pt"))  # fmt: skip
    tiny = ("--dataset=words", "--device=cpu", "--compile=False", "--eval_iters=1", "--block_size=16", "--batch_size=4",
            "--n_layer=2", "--n_head=2", "--n_embd=32", "--max_iters=12", "--lr_decay_iters=12",
            "--gradient_accumulation_steps=2", "--dtype=bfloat16", f"--out_dir={data / 'out'}")  # fmt: skip
    names = ("-i", str(data / "names.txt"), "-n", "0", "--max-steps", "12", "--n-layer", "2", "--n-embd", "16")
    images = (str(data / "images"), "--device", "cpu", "--model", "resnet10t", "--num-classes", "2", "--img-size", "64",
              "--batch-size", "4", "--workers", "1", "--epochs", "2", "--amp", "--amp-dtype", "bfloat16",
              "--output", str(data / "out"))  # fmt: skip
    llm = ("--input_bin", str(data / "tokens.bin"), "--model", "d12", "--num_iterations", "3", "--device", "cpu",
           "--batch_size", "1", "--sequence_length", "32", "--total_batch_size", "64", "--write_tensors", "0",
           "--overfit_single_batch", "0")  # fmt: skip
    series = ("--model", "informer", "--data", "custom", "--root_path", str(data), "--data_path", "series.csv", "--seq_len", "16",
              "--label_len", "8", "--pred_len", "8", "--enc_in", "3", "--dec_in", "3", "--c_out", "3", "--d_model", "32",
              "--n_heads", "2", "--d_ff", "32", "--batch_size", "8", "--itr", "1", "--train_epochs", "1", "--use_amp",
              "--checkpoints", str(data / "out"))  # fmt: skip
    pairs = ("-data", str(data / "datasets"), "-dataset-name", "cifar10", "-b", "10", "-j", "0", "--epochs", "1",
             "--fp16-precision", "--log-every-n-steps", "2")  # fmt: skip
    return {
        "regression": _Example("examples", "regression/main.py"),
        "words, LSTM": _Example("examples", "word_language_model/main.py", (*words, "--use-optimizer")),
        "words, transformer": _Example(
            "examples", "word_language_model/main.py", (*words, "--model", "Transformer", "--use-optimizer")
        ),
        "reinforce": _Example("examples", "reinforcement_learning/reinforce.py", ("--log-interval", "1")),
        "actor and critic": _Example("examples", "reinforcement_learning/actor_critic.py", ("--log-interval", "1")),
        "nanoGPT": _Example("nanoGPT", "train.py", tiny),
        "adder": _Example("minGPT", "projects/adder/adder.py", ("--trainer.max_iters=12", "--trainer.num_workers=0")),
        "chargpt": _Example(
            "minGPT",
            "projects/chargpt/chargpt.py",
            (
                "--trainer.max_iters=12",
                "--trainer.num_workers=0",
                "--model.model_type=gpt-nano",
                "--data.block_size=32",
                "--trainer.batch_size=8",
            ),
        ),
        "U-Net": _Example("Pytorch-UNet", "train.py", ("--amp", "--epochs", "2", "--batch-size", "2", "--scale", "1")),
        "timm": _Example("pytorch-image-models", "train.py", images),
        "ImageNet": _Example("examples", "imagenet/main.py", ("--dummy", "--arch", "resnet18", "-b", "2", "-j", "0")),
        "copy": _Example("x-transformers", "train_copy.py"),
        "llm.c": _Example("llm.c", "train_gpt2.py", llm),
        "makemore, transformer": _Example("makemore", "makemore.py", names),
        "makemore, GRU": _Example("makemore", "makemore.py", (*names, "--type", "gru")),
        "Informer": _Example("Informer2020", "main_informer.py", series, EMULATED),
        "SimCLR": _Example("SimCLR", "run.py", pairs, EMULATED, has_pictures=True),
        "bigram": _Example("ng-video-lecture", "bigram.py"),
    }


def _data(folder: Path, nanogpt: Path) -> None:
    import numpy

    words = folder / "words"
    words.mkdir()
    chosen = random.Random(0)
    for name in ("train", "valid", "test"):
        text = " ".join(f"w{chosen.randrange(60)}" for _ in range(2_000))
        (words / f"{name}.txt").write_text(text.replace("w7 ", "\n"))
    (folder / "names.txt").write_text("\n".join("".join(chosen.choices("abcdef", k=5)) for _ in range(1_200)))
    (folder / "data" / "words").mkdir(parents=True)
    for name in ("train", "val"):
        tokens = numpy.array([chosen.randrange(200) for _ in range(3_000)], dtype="uint16")
        tokens.tofile(folder / "data" / "words" / f"{name}.bin")
    tokens = numpy.array([chosen.randrange(50_000) for _ in range(1_000)], dtype="uint16")
    header = numpy.zeros(256, dtype="int32")
    header[:3] = 20240520, 1, len(tokens)
    (folder / "tokens.bin").write_bytes(header.tobytes() + tokens.tobytes())
    (folder / "input.txt").write_text("O God, O God!" + "".join(chosen.choices("abcdef ", k=2_000)))
    rows = "".join(
        f"2020-01-{day:02} {hour:02}:00:00,{hour / 24},{day / 31},{chosen.random()}\n"
        for day in range(1, 15)
        for hour in range(24)
    )
    (folder / "series.csv").write_text("date,a,b,OT\n" + rows)
    _images(folder)
    (folder / "configurator.py").symlink_to(nanogpt / "configurator.py")  # it is read from the current folder


def _images(folder: Path) -> None:
    """Pictures with masks for a segmentation, and of two classes."""
    import numpy
    from PIL import Image

    random_pixels = numpy.random.default_rng(0)
    for name in (
        "data/imgs",
        "data/masks",
        *(f"images/{part}/{kind}" for part in ("train", "validation") for kind in "ab"),
    ):
        (folder / name).mkdir(parents=True)
    for number in range(12):
        picture = Image.fromarray(random_pixels.integers(0, 255, (48, 48, 3), dtype="uint8"))
        picture.save(folder / f"data/imgs/{number}.png")
        Image.fromarray(random_pixels.integers(0, 2, (48, 48), dtype="uint8")).save(folder / f"data/masks/{number}.png")
        for part in ("train", "validation"):
            picture.save(folder / f"images/{part}/{'ab'[number % 2]}/{number}.png")


def _small_pictures(folder: Path) -> None:
    """Random pictures in the form of CIFAR-10."""
    import numpy

    random_pixels, kept = numpy.random.default_rng(0), folder / "datasets/cifar-10-batches-py"
    kept.mkdir(parents=True)
    for name in (*(f"data_batch_{number}" for number in range(1, 6)), "test_batch"):
        pixels = random_pixels.integers(0, 255, (20, 3072), dtype="uint8")
        (kept / name).write_bytes(pickle.dumps({"data": pixels, "labels": [number % 10 for number in range(20)]}))
    (kept / "batches.meta").write_bytes(pickle.dumps({"label_names": [f"class {number}" for number in range(10)]}))


def _run(command: list[str], folder: Path, paths: str, emulated: bool = False) -> str:
    """What a script has learned: its steps, its losses, their hash, and that of its weights after each step."""
    limited = os.environ | {"OMP_NUM_THREADS": "1", "MPLBACKEND": "Agg", "PYTHONPATH": paths}
    limited |= {"EMULATED": "1"} if emulated else {}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=limited)
    learned = [line for line in done.stdout.splitlines() if line.startswith("LEARNED")]
    return learned[0] if learned else f"failed: {(done.stderr.strip().splitlines() or ['nothing was said'])[-1]}"


def _linted(folder: Path) -> list[str]:
    files = sorted(map(str, folder.glob("*.py")))
    command = [sys.executable, "-m", "amplint", *files, "--select", "ALL", "--output-format", "json", "--no-cache"]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder)
    return sorted({one["code"] for one in json.loads(done.stdout)})


def _row(name: str, clones: Path) -> tuple[str, bool]:
    """The row of a script, and whether what it learns is the same."""
    with tempfile.TemporaryDirectory() as made:
        folder = Path(made)
        _data(folder, clones / "nanoGPT")
        (folder / "seeded.py").write_text(_SEEDED)
        example = _examples(folder)[name]
        if example.has_pictures:
            _small_pictures(folder)
        script = clones / example.repository / example.script
        paths = os.pathsep.join([str(clones / example.repository), os.environ.get("PYTHONPATH", "")])
        alone = _run(
            [sys.executable, "seeded.py", str(script), *example.arguments], folder, paths, example.device == EMULATED
        )
        command = [
            "-m",
            "amplint",
            "trace",
            "--device",
            example.device,
            "--quiet",
            "--output",
            "trace.jsonl",
            "seeded.py",
            str(script),
        ]
        watched = _run([sys.executable, *command, *example.arguments], folder, paths)
        if not alone.startswith("LEARNED"):
            return f"| {name} | {example.script} | {alone} | | |", False
        _, steps, losses, *_ = alone.split()
        same = f"{losses} losses, weights of {steps} steps: " + (
            "the same" if alone == watched else f"CHANGED {watched}"
        )
        run = json.loads((folder / "trace.jsonl").read_text().splitlines()[-1])
        seen = sorted({one["code"] for one in run["defects"]})
        read = _linted(script.parent)
        return (
            f"| {example.repository} | {name} | {same} | {' '.join(read) or 'none'} | {' '.join(seen) or 'none'} |",
            alone == watched,
        )


def main() -> int:
    """Run the scripts, and say of each whether the trace has changed anything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--clones", type=Path, required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    changed = 0
    for name in _examples(Path()):
        if options.only in name:
            row, is_same = _row(name, options.clones.resolve())
            print(row, flush=True)
            changed += not is_same
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
