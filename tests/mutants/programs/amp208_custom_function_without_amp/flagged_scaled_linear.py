import torch


class ScaledLinear(torch.autograd.Function):  # expect: AMP208 unsafe
    @staticmethod
    def forward(ctx, x, weight):
        ctx.save_for_backward(x, weight)
        return x.mm(weight.t()) * 0.5

    @staticmethod
    def backward(ctx, grad):
        x, weight = ctx.saved_tensors
        return grad.mm(weight) * 0.5, grad.t().mm(x) * 0.5


def train(model, weight, loader, optimizer, scaler):
    for x in loader:
        optimizer.zero_grad()
        with torch.autocast("cuda", dtype=torch.float16):
            loss = ScaledLinear.apply(model(x), weight).float().mean()
        scaler.scale(loss).backward()
        scaler.step(optimizer)
        scaler.update()
