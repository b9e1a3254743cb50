import lightning.pytorch as pl
import torch


class Net(pl.LightningModule):
    def training_step(self, batch, batch_idx):
        loss = torch.nn.functional.cross_entropy(self(batch[0]), batch[1])
        self.log("loss", loss)
        return loss

    def backward(self, loss):
        loss.backward()

    def on_after_backward(self):
        missing = [name for name, param in self.named_parameters() if param.grad is None]
        if not all(torch.isfinite(param.grad).all() for param in self.parameters() if param.grad is not None):
            self.log("skipped", 1.0)
        if missing:
            print(missing)

    def on_before_zero_grad(self, optimizer):
        self.log("norm", sum(param.grad.norm() for param in self.parameters()))

    def configure_gradient_clipping(self, optimizer, gradient_clip_val=None, gradient_clip_algorithm=None):
        torch.nn.utils.clip_grad_norm_(self.parameters(), 1.0)
        self.clip_gradients(optimizer, gradient_clip_val=0.5, gradient_clip_algorithm="value")

    def optimizer_step(self, epoch, batch_idx, optimizer, optimizer_closure):
        optimizer.step(closure=optimizer_closure)
        self.log("after", sum(param.grad.norm() for param in self.parameters()))

    def on_train_batch_end(self, outputs, batch, batch_idx):
        self.log("end", sum(param.grad.norm() for param in self.parameters()))


trainer = pl.Trainer(precision="16-mixed", gradient_clip_val=1.0)
