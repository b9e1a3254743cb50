import lightning.pytorch as pl
import torch


class Plain(pl.LightningModule):
    def __init__(self, model):
        super().__init__()
        self.automatic_optimization = False
        self.model = model

    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        sch = self.lr_schedulers()
        loss = torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1])
        opt.zero_grad()
        self.manual_backward(loss)
        opt.step()
        if self.trainer.is_last_batch:
            sch.step()
        self.log("loss", loss)

    def on_before_optimizer_step(self, optimizer):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)


class Accumulating(Plain):
    def training_step(self, batch, batch_idx):
        opt = self.optimizers()
        loss = torch.nn.functional.cross_entropy(self.model(batch[0]), batch[1]) / 4
        self.manual_backward(loss)
        if (batch_idx + 1) % 4 == 0:
            opt.step()
            opt.zero_grad()


class Gan(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        opt_g, opt_d = self.optimizers()
        for optimizer, loss in ((opt_g, self.loss_g(batch)), (opt_d, self.loss_d(batch))):
            self.toggle_optimizer(optimizer)
            self.manual_backward(loss)
            optimizer.step()
            optimizer.zero_grad()
            self.untoggle_optimizer(optimizer)


trainer = pl.Trainer(precision="16-mixed", devices=1)
