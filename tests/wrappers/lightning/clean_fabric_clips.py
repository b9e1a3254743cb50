import lightning as L
import torch


def main(model, dataset, criterion, epochs=2):
    fabric = L.Fabric(accelerator="cuda", devices=2, precision="16-mixed")
    fabric.launch()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05)
    model, optimizer = fabric.setup(model, optimizer)
    loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(dataset, batch_size=64))
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, step_size=10)
    for epoch in range(epochs):
        for inputs, targets in loader:
            optimizer.zero_grad()
            loss = criterion(model(inputs), targets)
            fabric.backward(loss)
            fabric.clip_gradients(model, optimizer, max_norm=1.0, error_if_nonfinite=False)
            optimizer.step()
        scheduler.step()
        fabric.save(f"epoch-{epoch}.ckpt", {"model": model, "optimizer": optimizer, "epoch": epoch})
