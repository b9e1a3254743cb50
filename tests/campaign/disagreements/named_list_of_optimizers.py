# Both ways: unscaling in a loop over a list with a name was not seen as that of the optimizers in it (AMP101, AMP105).
import torch


def train_one_epoch(model_g, optimizer_g, scaler, model_d, optimizer_d, batches):
    optimizers = [optimizer_g, optimizer_d]
    for batch in batches:
        scaler.scale(model_g(batch).mean()).backward()
        scaler.scale(model_d(batch).mean()).backward()
        scaler.step(optimizer_g)
        for each in optimizers:
            scaler.unscale_(each)
        torch.nn.utils.clip_grad_norm_(model_d.parameters(), 1.0)
        scaler.step(optimizer_d)
        scaler.update()


def train(batches):
    model_g = torch.nn.Linear(2, 1)
    optimizer_g = torch.optim.Adam(model_g.parameters(), lr=0.01)
    model_d = torch.nn.Linear(2, 1)
    optimizer_d = torch.optim.AdamW(model_d.parameters(), lr=0.01)
    scaler = torch.amp.GradScaler("cpu")
    train_one_epoch(model_g, optimizer_g, scaler, model_d, optimizer_d, batches)
