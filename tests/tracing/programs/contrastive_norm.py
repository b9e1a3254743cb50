"""A contrastive loss that divides by norms, with an epsilon that float16 does not have."""
# expect: forward div in -; 0/0
import torch
from torch import nn

torch.manual_seed(0)
encoder = nn.Sequential(nn.Linear(8, 16), nn.ReLU(), nn.Linear(16, 4, bias=False)).cuda()
optimizer = torch.optim.SGD(encoder.parameters(), 0.05)
scaler = torch.amp.GradScaler("cuda", init_scale=1024.0)
for step in range(4):
    views = torch.randn(6, 8, device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        features = encoder(views)
        if step == 2:
            features = features * (torch.arange(6).unsqueeze(1) > 0)  # a blank image
        lengths = features.square().sum(1, keepdim=True).sqrt().half()
        features = features / (lengths + 1e-8)  # here  # healthy: features = features / (lengths + 1e-3)
        similarity = features @ features.T
        loss = nn.functional.cross_entropy(similarity * 4, torch.arange(6))
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
