"""A segmentation loss that squares float16 values by multiplying them with themselves."""
# expect: forward mul in -; overflow
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Conv2d(1, 1, 3, padding=1).cuda()
optimizer = torch.optim.SGD(model.parameters(), 1e-6)
scaler = torch.amp.GradScaler("cuda", init_scale=2.0)
for step in range(3):
    images, masks = torch.rand(2, 1, 8, 8, device="cuda") * 900, torch.rand(2, 1, 8, 8, device="cuda").round()
    with torch.autocast("cuda", dtype=torch.float16):
        predicted = model(images)
        squares = predicted * predicted  # here  # healthy: squares = predicted.float() * predicted.float() * 1e-6
        loss = 1 - (predicted.sigmoid() * masks).sum() / (1 + masks.sum()) + squares.mean()
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
