"""The callbacks that the documentation shows, in the trainers of other libraries."""

from __future__ import annotations

import re
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest
from checkout import ROOT

pytest.importorskip("torch", reason="tracing needs torch: pip install 'amplint[verify]'")

BLOCKS = re.findall(r"(?s)```python\n(class Trace.*?)```", (ROOT / "docs" / "trace.md").read_text("utf-8"))

LIGHTNING = """\
import torch, lightning, amplint
CALLBACK
class Module(lightning.LightningModule):
    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(8, 1)
    def training_step(self, batch, number):
        return self.layer(batch[0]).square().mean()
    def configure_optimizers(self):
        return torch.optim.SGD(self.parameters(), 0.1)

data = torch.utils.data.TensorDataset(torch.randn(16, 8))
callback = Trace()
trainer = lightning.Trainer(
    max_epochs=1, callbacks=[callback], accelerator="cpu", logger=False, enable_checkpointing=False,
    enable_progress_bar=False, enable_model_summary=False, precision="bf16-mixed",
)
trainer.fit(Module(), torch.utils.data.DataLoader(data, 4))
"""
TRANSFORMERS = """\
import torch, transformers, amplint
CALLBACK
config = transformers.BertConfig(
    vocab_size=20, hidden_size=16, num_hidden_layers=1, num_attention_heads=2, intermediate_size=16, num_labels=2
)
model = transformers.BertForSequenceClassification(config)
data = [{"input_ids": torch.randint(20, (6,)), "labels": torch.tensor(number % 2)} for number in range(16)]
arguments = transformers.TrainingArguments(
    "out", max_steps=4, per_device_train_batch_size=4, report_to=[], use_cpu=True, bf16=True, save_strategy="no"
)
callback = Trace()
transformers.Trainer(model, arguments, train_dataset=data, callbacks=[callback]).train()
"""


@pytest.mark.parametrize(("library", "program"), [("lightning", LIGHTNING), ("transformers", TRANSFORMERS)])
def test_a_callback_traces_what_a_trainer_does(library: str, program: str, tmp_path: Path) -> None:
    if find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    (callback,) = [block for block in BLOCKS if f"({library}." in block]
    assert callback.count("\n") <= 8
    text = program.replace("CALLBACK", callback.replace(', html="trace.html"', ""))
    end = "print('seen', callback.record.totals.tried, callback.record.defects, callback.record.profile is not None)\n"
    (tmp_path / "train.py").write_text(text + end)
    done = subprocess.run([sys.executable, "train.py"], cwd=tmp_path, capture_output=True, text=True, timeout=500)
    assert "seen 4 [] True" in done.stdout, done.stderr
