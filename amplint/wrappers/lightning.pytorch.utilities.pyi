"""lightning.pytorch.utilities: the norms of gradients, as a hook may log them."""

def grad_norm(module, norm_type, group_separator="/"):
    norms = {name: param.grad.data.norm(float(norm_type)) for name, param in module.named_parameters()}
    return norms
