"""Example scripts of others, with `amplint trace` and without: what they learn must be the same to the last bit.

    python benchmarks/trace_examples.py --examples CLONE --nanogpt CLONE [--only NAME]

The clones are those of github.com/pytorch/examples and github.com/karpathy/nanoGPT; numpy and gymnasium must be there. Each
script gets a seed and a little random data, and runs twice, each time in a process of its own. All parameters that are alive
at its end are hashed.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import subprocess
import sys
import tempfile
from pathlib import Path

_SEEDED = """\
import gc, hashlib, os, random, runpy, sys
import torch
from torch.optim.optimizer import register_optimizer_step_post_hook
random.seed(0)
torch.manual_seed(0)
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
steps = 0
def count(optimizer, args, kwargs):
    global steps
    steps += 1
    if steps == 25:
        raise SystemExit  # some go on until they have learned
register_optimizer_step_post_hook(count)
try:
    kept = runpy.run_path(sys.argv[0], run_name="__main__")
except SystemExit as end:
    kept = end
parts = [one.detach().numpy().tobytes() for one in gc.get_objects() if type(one) is torch.nn.Parameter]
print("LEARNED", *sorted({hashlib.sha256(one).hexdigest()[:16] for one in parts}))
"""


def _scripts(examples: Path, data: Path) -> dict[str, list[str]]:
    """The command line of each script."""
    words = [str(examples / "word_language_model/main.py"), "--data", str(data / "words"), "--epochs", "1"]
    words += ["--emsize", "32", "--nhid", "32", "--batch_size", "8", "--bptt", "8", "--save", str(data / "model.pt")]
    return {
        "regression": [str(examples / "regression/main.py")],
        "words, LSTM": [*words, "--use-optimizer"],
        "words, transformer": [*words, "--model", "Transformer", "--lr", "1"],
        "reinforce": [str(examples / "reinforcement_learning/reinforce.py"), "--log-interval", "1"],
        "actor and critic": [str(examples / "reinforcement_learning/actor_critic.py"), "--log-interval", "1"],
        "nanoGPT": [
            str(data / "train.py"), "--dataset=words", "--device=cpu", "--compile=False", "--eval_iters=1",
            "--block_size=16", "--batch_size=4", "--n_layer=2", "--n_head=2", "--n_embd=32", "--max_iters=12",
            "--lr_decay_iters=12", "--gradient_accumulation_steps=2", "--dtype=bfloat16", f"--out_dir={data / 'out'}",
        ],
    }  # fmt: skip


def _data(folder: Path) -> None:
    import numpy

    words = folder / "words"
    words.mkdir()
    chosen = random.Random(0)
    for name in ("train", "valid", "test"):
        text = " ".join(f"w{chosen.randrange(60)}" for _ in range(2_000))
        (words / f"{name}.txt").write_text(text.replace("w7 ", "\n"))
    (folder / "data" / "words").mkdir(parents=True)
    for name in ("train", "val"):
        tokens = numpy.array([chosen.randrange(200) for _ in range(3_000)], dtype="uint16")
        tokens.tofile(folder / "data" / "words" / f"{name}.bin")


def _run(command: list[str], folder: Path) -> set[str]:
    """What a script has learned, as the hashes of its parameters."""
    limited = os.environ | {"OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, env=limited)
    learned = [line for line in done.stdout.splitlines() if line.startswith("LEARNED")]
    if not learned:
        raise SystemExit(f"failed: {(done.stderr.strip().splitlines() or ['nothing was said'])[-1]}")
    return set(learned[0].split()[1:])


def main() -> int:
    """Run the scripts, and say of each whether the trace has changed anything."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--examples", type=Path, required=True)
    parser.add_argument("--nanogpt", type=Path, required=True)
    parser.add_argument("--only", default="")
    options = parser.parse_args()
    changed = 0
    for name in _scripts(Path(), Path()):
        if options.only not in name:
            continue
        with tempfile.TemporaryDirectory() as made:
            folder = Path(made)
            _data(folder)
            (folder / "seeded.py").write_text(_SEEDED)
            for path in options.nanogpt.resolve().glob("*.py"):  # it reads its own files from the current folder
                (folder / path.name).symlink_to(path)
            script = _scripts(options.examples.resolve(), folder)[name]
            alone = _run([sys.executable, "seeded.py", *script], folder)
            traced = ["-m", "amplint", "trace", "--output", "trace.jsonl", "seeded.py", *script]
            watched = _run([sys.executable, *traced], folder)
            run = json.loads((folder / "trace.jsonl").read_text().splitlines()[-1])
            again = "run again" if run["profile"] else f"not run again: {run['not_again'] or 'no step'}"
            codes = [one["code"] for one in run["defects"]] or "no defects"
            changed += not alone <= watched  # a copy of a model may live longer in a traced program
            same = f"{len(alone)} parameters are the same" if alone <= watched else "CHANGED"
            print(f"{name}: {run['totals']['tried']} steps, {again}, {codes}; {same}", flush=True)
    return 1 if changed else 0


if __name__ == "__main__":
    sys.exit(main())
