import pytorch_lightning as pl
import torch


class GAN(pl.LightningModule):
    def __init__(self, generator, discriminator, criterion):
        super().__init__()
        self.automatic_optimization = False
        self.generator, self.discriminator, self.criterion = generator, discriminator, criterion

    def training_step(self, batch, batch_idx):
        opt_g, opt_d = self.optimizers()
        sch_g, sch_d = self.lr_schedulers()
        fake = self.generator(torch.randn(batch.shape[0], 128, device=self.device))
        loss_d = self.criterion(self.discriminator(batch), True) + self.criterion(
            self.discriminator(fake.detach()), False
        )
        opt_d.zero_grad()
        self.manual_backward(loss_d)
        opt_d.step()
        loss_g = self.criterion(self.discriminator(fake), True)
        opt_g.zero_grad()
        self.manual_backward(loss_g)
        self.clip_gradients(opt_g, gradient_clip_val=0.5, gradient_clip_algorithm="norm")
        opt_g.step()
        sch_g.step()
        sch_d.step()
        self.log_dict({"g": loss_g, "d": loss_d})

    def configure_optimizers(self):
        opt_g = torch.optim.Adam(self.generator.parameters(), lr=2e-4)
        opt_d = torch.optim.Adam(self.discriminator.parameters(), lr=2e-4)
        return opt_g, opt_d


trainer = pl.Trainer(precision="bf16-mixed", devices=1)
