"""Gradients are accumulated; the clip and the step stand in the guard."""

import torch


def train(model, loader, epochs, accum):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4)
    for _ in range(epochs):
        for i, batch in enumerate(loader):
            with torch.autocast("cuda", dtype=torch.float16):
                loss = model(**batch).loss / accum
            loss.backward()  # expect: AMP106 unsafe
            if (i + 1) % accum == 0:
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step(  # first
        # second
        
    # last
    )
                optimizer.zero_grad()
