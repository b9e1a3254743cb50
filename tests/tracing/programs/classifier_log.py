"""An image classifier whose loss takes the logarithm of probabilities that have become zero."""
# expect: forward log in -; the logarithm of zero
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Conv2d(3, 4, 3), nn.ReLU(), nn.Flatten(), nn.Linear(4 * 36, 5)).cuda()
optimizer = torch.optim.SGD(model.parameters(), 0.01)
scaler = torch.amp.GradScaler("cuda")
for step in range(5):
    images, labels = torch.randn(8, 3, 8, 8, device="cuda"), torch.randint(5, (8,), device="cuda")
    with torch.autocast("cuda", dtype=torch.float16):
        logits = model(images) * (400 if step == 3 else 1)
        probabilities = logits.softmax(-1).gather(1, labels.unsqueeze(1))
        loss = -torch.log(probabilities).mean()  # here  # healthy: loss = nn.functional.cross_entropy(logits, labels)
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
