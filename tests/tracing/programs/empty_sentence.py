"""Words averaged over the length of a sentence that is all padding."""
# expect: forward div in Pool; 0/0
import torch
from torch import nn


class Pool(nn.Module):
    def __init__(self):
        super().__init__()
        self.words, self.head = nn.Embedding(10, 8), nn.Linear(8, 1)

    def forward(self, words):
        valid = (words != 0).unsqueeze(-1)
        total = (self.words(words) * valid).sum(1)
        length = valid.sum(1)
        return self.head(total / length)  # here  # healthy: return self.head(total / length.clamp(min=1))


torch.manual_seed(0)
model = Pool().cuda()
optimizer = torch.optim.AdamW(model.parameters(), 1e-3)
scaler = torch.amp.GradScaler("cuda", init_scale=256.0)
for step in range(4):
    words = torch.randint(1, 10, (4, 6), device="cuda")
    words[0, 3:] = 0
    if step == 2:
        words[1] = 0
    with torch.autocast("cuda", dtype=torch.float16):
        loss = nn.functional.binary_cross_entropy_with_logits(model(words), torch.ones(4, 1, device="cuda"))
    optimizer.zero_grad()
    scaler.scale(loss).backward()
    scaler.step(optimizer)
    scaler.update()
