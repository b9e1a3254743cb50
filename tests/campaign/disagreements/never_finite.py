# Only static, as the step of the hazard was never reached: the gradients are not cleared, so the NaN of the first batch stays.
import torch


def train(batches):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for batch in batches:
        with torch.autocast("cpu", dtype=torch.float16):
            loss = model(batch).mean()
        loss.backward()
        if all(torch.isfinite(parameter.grad).all() for parameter in model.parameters()):
            optimizer.step()
