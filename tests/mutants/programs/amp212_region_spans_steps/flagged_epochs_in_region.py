import torch
import torch.nn.functional as F


def pretrain(encoder, loader, epochs):
    optimizer = torch.optim.AdamW(encoder.parameters(), lr=3e-4, weight_decay=0.05)
    for epoch in range(epochs):
        total = 0.0
        with torch.autocast("cuda", dtype=torch.bfloat16):  # expect: AMP212 safe
            for views, positives in loader:
                optimizer.zero_grad(set_to_none=True)
                similarity = F.cosine_similarity(encoder(views), encoder(positives))
                loss = 1 - similarity.mean()
                loss.backward()
                optimizer.step()
                total += loss.item()
        print(epoch, total)
