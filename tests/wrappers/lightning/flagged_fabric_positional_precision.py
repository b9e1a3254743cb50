from lightning_fabric import Fabric
from torch.nn.utils import clip_grad_value_


class Loop:
    def __init__(self, model, optimizer):
        self.fabric = Fabric("cuda", "ddp", 4, 1, "16-mixed")
        self.model, self.optimizer = self.fabric.setup(model, optimizer)

    def step(self, batch):
        self.optimizer.zero_grad()
        loss = self.model(batch)
        self.fabric.backward(loss)
        clip_grad_value_(self.model.parameters(), 0.5)  # expect: AMP101 none
        self.optimizer.step()
        return loss.detach()
