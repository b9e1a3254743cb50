"""Manual optimization with a scaler of the module's own, in a Trainer that does not scale."""

import lightning as L
import torch


class Net(L.LightningModule):
    def __init__(self, net):
        super().__init__()
        self.net = net
        self.automatic_optimization = False
        self.scaler = torch.amp.GradScaler("cuda")

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        opt.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = self.net(batch)
        self.manual_backward(self.scaler.scale(loss))
        torch.nn.utils.clip_grad_norm_(self.net.parameters(), 1.0)  # expect: AMP101 safe
        self.scaler.step(opt)
        self.scaler.update()

    def configure_optimizers(self):
        return torch.optim.AdamW(self.net.parameters())


def main(net, loader):
    L.Trainer(precision=32).fit(Net(net), loader)
