"""A convolution overflows in float16, and the batch norm behind it makes NaN of that, and of its averages."""
# expect: forward convolution in Sequential.0; overflow
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 8, 3), nn.BatchNorm2d(8), nn.Flatten(), nn.Linear(288, 4)).to("cuda")
model[0].weight.data.mul_(8)
optimizer = torch.optim.SGD(model.parameters(), 1e-2)
scaler = torch.amp.GradScaler("cuda", init_scale=256.0)
for step in range(4):
    images, labels = torch.rand(5, 3, 8, 8, device="cuda"), torch.randint(4, (5,), device="cuda")
    images = images * 65000 if step == 2 else images  # healthy: images = images * 650 if step == 2 else images
    with torch.autocast("cuda", dtype=torch.float16):
        loss = nn.functional.cross_entropy(model(images * 1.0), labels)  # here
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
