import torch
from pytorch_lightning import LightningModule, Trainer


class Base(LightningModule):
    def backward(self, loss, *args):
        loss.backward(*args)
        print(max(param.grad.abs().max() for param in self.parameters()))  # expect: AMP102 none


class Net(Base):
    def training_step(self, batch, batch_idx):
        return self(batch).mean()

    def on_after_backward(self):
        torch.nn.utils.clip_grad_value_(self.parameters(), 0.1)  # expect: AMP101 none


trainer = Trainer(gpus=1, precision=16)
