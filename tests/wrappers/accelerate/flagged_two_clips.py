import torch
from accelerate import Accelerator


def train(encoder, decoder, loader, criterion):
    accelerator = Accelerator(mixed_precision="fp16")
    optimizer = torch.optim.AdamW([*encoder.parameters(), *decoder.parameters()], lr=1e-4)
    encoder, decoder, optimizer, loader = accelerator.prepare(encoder, decoder, optimizer, loader)
    for inputs, targets in loader:
        optimizer.zero_grad()
        loss = criterion(decoder(encoder(inputs)), targets)
        accelerator.backward(loss)
        torch.nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)  # expect: AMP101 none
        accelerator.clip_grad_norm_(decoder.parameters(), 1.0)
        optimizer.step()
