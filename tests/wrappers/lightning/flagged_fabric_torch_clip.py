import lightning as L
import torch


def main(model, dataset, criterion):
    fabric = L.Fabric(accelerator="cuda", precision="16-mixed")
    optimizer = torch.optim.AdamW(model.parameters(), lr=3e-4)
    model, optimizer = fabric.setup(model, optimizer)
    loader = fabric.setup_dataloaders(torch.utils.data.DataLoader(dataset, batch_size=64))
    for step, (inputs, targets) in enumerate(loader):
        is_accumulating = (step + 1) % 4 != 0
        with fabric.no_backward_sync(model, enabled=is_accumulating):
            loss = criterion(model(inputs), targets)
            fabric.backward(loss / 4)
        if not is_accumulating:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)  # expect: AMP101 none
            optimizer.step()
            optimizer.zero_grad()
