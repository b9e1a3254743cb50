import math

import torch


def get_grad_norm_(parameters, norm_type=2.0):
    parameters = [p for p in parameters if p.grad is not None]
    if len(parameters) == 0:
        return torch.tensor(0.0)
    norms = [torch.norm(p.grad.detach(), norm_type) for p in parameters]
    return torch.norm(torch.stack(norms), norm_type)


class NativeScalerWithGradNormCount:
    state_dict_key = "amp_scaler"

    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer, clip_grad=None, parameters=None, create_graph=False, update_grad=True):
        self._scaler.scale(loss).backward(create_graph=create_graph)
        if update_grad:
            if clip_grad is not None:
                assert parameters is not None
                self._scaler.unscale_(optimizer)
                norm = torch.nn.utils.clip_grad_norm_(parameters, clip_grad)
            else:
                self._scaler.unscale_(optimizer)
                norm = get_grad_norm_(parameters)
            self._scaler.step(optimizer)
            self._scaler.update()
        else:
            norm = None
        return norm

    def state_dict(self):
        return self._scaler.state_dict()

    def load_state_dict(self, state_dict):
        self._scaler.load_state_dict(state_dict)


def train_one_epoch(model, criterion, loader, optimizer, loss_scaler, max_norm=None, accum_iter=4):
    optimizer.zero_grad()
    for step, (samples, targets) in enumerate(loader):
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(samples), targets)
        if not math.isfinite(loss.item()):
            raise FloatingPointError(f"loss is {loss.item()}")
        loss /= accum_iter
        update_grad = (step + 1) % accum_iter == 0
        loss_scaler(loss, optimizer, clip_grad=max_norm, parameters=model.parameters(), update_grad=update_grad)
        if update_grad:
            optimizer.zero_grad()


def main(model, criterion, loader):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    loss_scaler = NativeScalerWithGradNormCount()
    for epoch in range(10):
        train_one_epoch(model, criterion, loader, optimizer, loss_scaler, max_norm=1.0)
        state = {
            "model": model.state_dict(),
            "optimizer": optimizer.state_dict(),
            "scaler": loss_scaler.state_dict(),
            "epoch": epoch,
        }
        torch.save(state, f"checkpoint-{epoch}.pth")
