import lightning.pytorch as pl
import torch


class Net(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        return torch.nn.functional.binary_cross_entropy(self(batch[0]), batch[1])

    def on_after_backward(self):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)


def main(args, precision):
    for trainer in (
        pl.Trainer(precision="bf16-mixed"),
        pl.Trainer(precision=args.precision),
        pl.Trainer(precision=precision, devices=16),
        pl.Trainer(precision="16-true"),
        pl.Trainer(precision="16-mixed", accelerator="cpu"),
        pl.Trainer(precision=16, amp_backend="apex"),
        pl.Trainer(precision=16, strategy="deepspeed_stage_2"),
    ):
        trainer.fit(Net())
