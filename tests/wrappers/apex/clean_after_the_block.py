import torch
from apex import amp


class Step:
    def __init__(self, model, optimizer, accumulate):
        self.model, self.optimizer = amp.initialize(model, optimizer, opt_level="O2", loss_scale=128.0)
        self.accumulate = accumulate
        self.count = 0

    def backward(self, loss):
        self.count += 1
        last = self.count % self.accumulate == 0
        with amp.scale_loss(loss / self.accumulate, self.optimizer, delay_unscale=not last) as scaled_loss:
            scaled_loss.backward()
        return last

    def __call__(self, loss, writer):
        if self.backward(loss):
            norm = torch.nn.utils.get_total_norm([p.grad for p in amp.master_params(self.optimizer)])
            writer.add_scalar("norm", norm.item(), self.count)
            torch.nn.utils.clip_grad_value_(amp.master_params(self.optimizer), 0.5)
            self.optimizer.step()
            self.optimizer.zero_grad()


def adversarial(generator, critic, optimizers, batches):
    models, optimizers = amp.initialize([generator, critic], list(optimizers), opt_level="O1", num_losses=2)
    for noise, real in batches:
        loss = (critic(generator(noise)) - critic(real)).mean()
        with amp.scale_loss(loss, optimizers[1], loss_id=0) as first:
            first.backward(retain_graph=True)
        torch.nn.utils.clip_grad_norm_(critic.parameters(), 1.0)
        optimizers[1].step()
        with amp.scale_loss(-loss, optimizers[0], loss_id=1) as second:
            second.backward()
        torch.nn.utils.clip_grad_norm_(generator.parameters(), 1.0)
        optimizers[0].step()
