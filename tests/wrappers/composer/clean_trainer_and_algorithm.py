import torch
from composer import Algorithm, Event, Trainer
from composer.algorithms import GradientClipping, LabelSmoothing
from composer.models import ComposerModel
from torch import nn


class Classifier(ComposerModel):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(nn.Flatten(), nn.Linear(784, 256), nn.ReLU(), nn.Linear(256, 16))

    def forward(self, batch):
        return self.net(batch[0])

    def loss(self, outputs, batch):
        return nn.functional.cross_entropy(outputs, batch[1])


class EmbeddingClipping(Algorithm):
    def match(self, event, state):
        return event == Event.AFTER_TRAIN_BATCH

    def apply(self, event, state, logger):
        norm = torch.nn.utils.clip_grad_norm_(state.model.parameters(), 1.0)
        logger.log_metrics({"norm": norm.item()})


def main(train, evaluate):
    model = Classifier()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    trainer = Trainer(
        model=model,
        train_dataloader=train,
        eval_dataloader=evaluate,
        optimizers=optimizer,
        max_duration="5ep",
        precision="amp_fp16",
        algorithms=[
            LabelSmoothing(0.1),
            GradientClipping(clipping_type="norm", clipping_threshold=1.0),
            EmbeddingClipping(),
        ],
    )
    trainer.fit()
