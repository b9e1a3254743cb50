import torch
from lightning.fabric import Fabric


def main(model, batches, diffuse, log, total=1000):
    fabric = Fabric(accelerator="gpu", devices=1, precision="16-mixed")
    optimizer = torch.optim.Adam(model.parameters())
    diffusion, optimizer = fabric.setup(diffuse(model), optimizer)
    resize = fabric.setup_module(torch.nn.Upsample(size=(64, 64)))
    batches = fabric.setup_dataloaders(batches)

    def training_step(batch):
        optimizer.zero_grad()
        loss, parts = diffusion.training_step(resize(batch["x"]), resize(batch["y"]))
        fabric.backward(loss.mean())
        optimizer.step()
        parts["norm"] = torch.stack([param.grad.norm() for param in model.parameters()]).norm().item()
        return model, (loss, parts)

    for step, batch in enumerate(batches):
        model, (loss, parts) = training_step(batch)
        if step % 50 == 0:
            log({"loss": loss.mean().item(), **parts})
        if step == total:
            fabric.save(f"model_{step}.ckpt", {"model": diffusion, "optimizer": optimizer, "step": step})
            break
