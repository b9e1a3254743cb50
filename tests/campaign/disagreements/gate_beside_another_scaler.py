# Only static, and a false alarm: the gate asks about one scaler, while another has stepped and not updated yet (AMP107).
import torch


def train(batches):
    model_g = torch.nn.Linear(2, 1)
    optimizer_g = torch.optim.AdamW(model_g.parameters(), lr=0.01)
    model_d = torch.nn.Linear(2, 1)
    optimizer_d = torch.optim.Adam(model_d.parameters(), lr=0.01)
    scaler_g = torch.amp.GradScaler("cpu")
    scaler_d = torch.amp.GradScaler("cpu")
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer_d, 100)
    for batch in batches:
        scale_before = scaler_d.get_scale()
        scaler_g.scale(model_g(batch).mean()).backward()
        scaler_g.step(optimizer_g)
        optimizer_g.zero_grad()
        scaler_d.scale(model_d(batch).mean()).backward()
        scaler_d.step(optimizer_d)
        optimizer_d.zero_grad()
        scaler_d.update()
        if scaler_d.get_scale() >= scale_before:
            scheduler.step()
        scaler_g.update()
