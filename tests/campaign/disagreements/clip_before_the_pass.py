# Only static: the clip meets gradients that a step has used; the pass of the other model has not touched them
# (limit `another_pass`).
import torch


def train(batches):
    model_g = torch.nn.Linear(2, 1)
    optimizer_g = torch.optim.SGD(model_g.parameters(), lr=0.01)
    model_d = torch.nn.Linear(2, 1)
    optimizer_d = torch.optim.Adam(model_d.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    for batch in batches:
        torch.nn.utils.clip_grad_norm_(model_g.parameters(), 1.0, error_if_nonfinite=True)
        scaler.scale(model_g(batch).mean()).backward()
        scaler.step(optimizer_g)
        model_g.zero_grad(set_to_none=False)
        optimizer_d.zero_grad()
        loss_d = model_d(batch).mean()
        scaler.scale(loss_d).backward()
        scaler.step(optimizer_d)
        scaler.update()
