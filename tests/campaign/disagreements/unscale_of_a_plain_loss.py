# Only found where it raises: unscale_ on the gradients of a plain loss was no hazard by itself, and the step that told it
# comes behind the error (AMP103).
import torch


def train(batches, clip):
    model = torch.nn.Linear(2, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for batch in batches:
        optimizer.zero_grad()
        model(batch).mean().backward()
        scaler.unscale_(optimizer)
        if clip:
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
