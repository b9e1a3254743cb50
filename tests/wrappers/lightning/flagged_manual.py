import lightning.pytorch as pl
import torch


class Autoencoder(pl.LightningModule):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.automatic_optimization = False
        self.encoder, self.decoder = encoder, decoder

    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        loss = torch.nn.functional.mse_loss(self.decoder(self.encoder(batch)), batch)
        optimizer.zero_grad()
        self.manual_backward(loss)
        self.clip_gradients(optimizer, gradient_clip_val=0.5, gradient_clip_algorithm="norm")  # expect: AMP101 none
        optimizer.step()

    def configure_optimizers(self):
        return torch.optim.Adam(self.parameters(), lr=1e-4)


class Plain(Autoencoder):
    def training_step(self, batch, batch_idx):
        optimizer = self.optimizers()
        optimizer.zero_grad()
        loss = torch.nn.functional.mse_loss(self.decoder(self.encoder(batch)), batch)
        loss.backward()  # expect: AMP103 none
        optimizer.step()


class Gan(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        opt_g, opt_d = self.optimizers()
        self.toggle_optimizer(opt_g)
        fake = self.generator(torch.randn(batch.shape[0], 128, device=self.device))
        loss_g = self.criterion(self.discriminator(fake), True)
        self.manual_backward(loss_g)
        torch.nn.utils.clip_grad_norm_(self.generator.parameters(), 1.0)  # expect: AMP101 none
        opt_g.step()
        opt_g.zero_grad()
        self.untoggle_optimizer(opt_g)
        loss_d = self.criterion(self.discriminator(batch), True)
        opt_d.zero_grad()
        self.manual_backward(loss_d)
        opt_d.step()


trainer = pl.Trainer(precision="16-mixed" if torch.cuda.is_available() else "32-true", devices=1)
