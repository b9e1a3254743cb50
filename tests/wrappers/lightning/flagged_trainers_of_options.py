from argparse import ArgumentParser

import pytorch_lightning as pl
import torch
from pytorch_lightning.strategies import DDPStrategy


class Net(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        return self(batch).mean()

    def on_after_backward(self):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)  # expect: AMP101 none


def main():
    parser = ArgumentParser()
    parser.add_argument("--amp", action="store_true")
    parser.add_argument("--gpus", type=int, default=1)
    args = parser.parse_args()
    strategy = DDPStrategy(find_unused_parameters=False)
    trainer = pl.Trainer.from_argparse_args(args, precision=16 if args.amp else 32, strategy=strategy)
    trainer.fit(Net())
