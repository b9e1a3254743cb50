import torch
from accelerate import Accelerator


class Finetuner:
    def __init__(self, model, loader, bf16=True):
        self.accelerator = Accelerator(mixed_precision="bf16" if bf16 else "no")
        optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(model, optimizer, loader)

    def run(self):
        for batch in self.loader:
            loss = self.model(**batch).loss
            self.accelerator.backward(loss)
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
            self.optimizer.zero_grad()
