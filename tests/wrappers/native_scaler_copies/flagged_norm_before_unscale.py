import torch


class NativeScalerWithGradNormCount:
    def __init__(self):
        self._scaler = torch.amp.GradScaler("cuda")

    def __call__(self, loss, optimizer, clip_grad=None, parameters=None, create_graph=False, update_grad=True):
        self._scaler.scale(loss).backward(create_graph=create_graph)
        if update_grad:
            if clip_grad is not None:
                torch.nn.utils.clip_grad_norm_(parameters, clip_grad)  # expect: AMP101 safe
            self._scaler.step(optimizer)
            self._scaler.update()

    def state_dict(self):
        return self._scaler.state_dict()


def train(model, criterion, loader, optimizer):
    loss_scaler = NativeScalerWithGradNormCount()
    for samples, targets in loader:
        with torch.autocast("cuda", dtype=torch.float16):
            loss = criterion(model(samples), targets)
        optimizer.zero_grad()
        loss_scaler(loss, optimizer, clip_grad=1.0, parameters=model.parameters())
