"""torchutil.gradients: what gradients are like, as they stand in the parameters."""

def stats(model):
    total, largest, smallest = 0, 0, 0
    for parameter in model.parameters():
        if parameter.grad is not None:
            largest = max(largest, parameter.grad.data.max())
            smallest = min(smallest, parameter.grad.data.min())
            total += parameter.grad.data.norm(2)
    return {"gradients/norm": total, "gradients/max": largest, "gradients/min": smallest}
