import torch
import torchutil


def train(model, loader, directory):
    optimizer = torch.optim.AdamW(model.parameters())
    scaler = torch.amp.GradScaler("cuda")
    model, optimizer, state = torchutil.checkpoint.load(directory / "latest.pt", model, optimizer)
    step = state["step"]
    scaler.load_state_dict(state["scaler"])
    for inputs, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = torch.nn.functional.cross_entropy(model(inputs), targets)
        optimizer.zero_grad()
        scaler.scale(loss).backward()
        scaler.unscale_(optimizer)
        statistics = torchutil.gradients.stats(model)
        scaler.step(optimizer)
        scaler.update()
        step += 1
    torchutil.checkpoint.save(directory / "latest.pt", model, optimizer, step=step, scaler=scaler.state_dict())
    return statistics
