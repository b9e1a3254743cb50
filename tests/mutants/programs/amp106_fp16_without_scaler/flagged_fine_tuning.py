import torch
import torch.nn.functional as F


def finetune(model, loader, epochs):
    optimizer = torch.optim.AdamW(model.parameters(), lr=2e-5)
    for epoch in range(epochs):
        for batch in loader:
            optimizer.zero_grad()
            with torch.autocast(device_type="cuda", dtype=torch.float16):
                out = model(batch["input_ids"])
                loss = F.cross_entropy(out, batch["labels"])
            loss.backward()  # expect: AMP106 unsafe
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
