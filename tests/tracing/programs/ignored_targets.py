"""Cross entropy over a batch in which every target is to be ignored."""
# expect: forward nll_loss_forward in CrossEntropyLoss; the mean of nothing
import torch
from torch import nn

torch.manual_seed(0)
model = nn.Sequential(nn.Embedding(30, 8), nn.Linear(8, 30)).cuda()
optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
criterion = nn.CrossEntropyLoss(ignore_index=0)
for step in range(4):
    tokens = torch.randint(1, 30, (2, 6), device="cuda")
    targets = tokens.roll(-1, 1)
    if step == 2:
        targets = torch.zeros_like(tokens)  # healthy: targets = torch.ones_like(tokens)
    with torch.autocast("cuda", dtype=torch.bfloat16):
        loss = criterion(model(tokens).flatten(0, 1), targets.flatten())  # here
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
