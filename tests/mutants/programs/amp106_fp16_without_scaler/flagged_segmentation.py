import torch
import torch.nn.functional as F


def train_epoch(net, loader, device="cuda"):
    optimizer = torch.optim.AdamW(net.parameters(), lr=2e-4)
    net.train()
    for image, mask in loader:
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast(device_type="cuda", dtype=torch.float16):
            logits = net(image.to(device))
            loss = F.cross_entropy(logits.float(), mask.to(device))
        loss.backward()  # expect: AMP106 unsafe
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
