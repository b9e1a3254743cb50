import torch
from composer import Callback, Trainer
from composer.models import ComposerModel
from torch import nn
from torch.nn import functional as F


class Tagger(ComposerModel):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 16))

    def forward(self, batch):
        return self.net(batch[0])

    def loss(self, outputs, batch):
        return F.binary_cross_entropy_with_logits(outputs, batch[1])  # expect: AMP304 safe


class Norms(Callback):
    def after_backward(self, state, logger):
        norm = torch.nn.utils.get_total_norm([p.grad for p in state.model.parameters()])  # expect: AMP102 none
        logger.log_metrics({"norm": norm.item()})
        torch.nn.utils.clip_grad_value_(state.model.parameters(), 0.1)  # expect: AMP101 none

    def after_train_batch(self, state, logger):
        norm = torch.nn.utils.clip_grad_norm_(state.model.parameters(), 1.0)
        logger.log_metrics({"clipped": norm.item()})


def main(train, optimizer):
    trainer = Trainer(
        model=Tagger(),
        train_dataloader=train,
        optimizers=optimizer,
        max_duration="5ep",
        precision="amp_fp16",
        callbacks=[Norms()],
    )
    trainer.fit()
