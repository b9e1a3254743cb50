from accelerate import Accelerator, DistributedDataParallelKwargs
from torch.nn.utils import clip_grad_norm_
from torch.optim import AdamW


class Trainer:
    def __init__(self, model, loader, criterion, accumulate=4):
        handlers = [DistributedDataParallelKwargs(find_unused_parameters=True)]
        self.accelerator = Accelerator(
            mixed_precision="fp16", gradient_accumulation_steps=accumulate, kwargs_handlers=handlers
        )
        self.criterion = criterion
        self.model = model
        self.optimizer = AdamW(self.model.parameters(), lr=3e-4)
        self.model, self.optimizer, self.loader = self.accelerator.prepare(self.model, self.optimizer, loader)

    def epoch(self):
        for images, labels in self.loader:
            with self.accelerator.accumulate(self.model):
                loss = self.criterion(self.model(images), labels)
                self.accelerator.backward(loss)
                clip_grad_norm_(self.model.parameters(), max_norm=0.5)  # expect: AMP101 none
                self.optimizer.step()
                self.optimizer.zero_grad()
