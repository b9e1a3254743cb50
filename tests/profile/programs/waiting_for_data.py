"""A loader that takes longer than the model; its regions are off unless an option says otherwise."""

import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset


class Slow(Dataset):
    def __len__(self):
        return 10_000

    def __getitem__(self, number):
        time.sleep(0.003)
        return torch.full((8,), number / 10_000), number % 4


if __name__ == "__main__":
    torch.manual_seed(0)
    use_amp = "--amp" in sys.argv
    model = nn.Sequential(nn.Linear(8, 32), nn.ReLU(), nn.Linear(32, 4))
    optimizer = torch.optim.AdamW(model.parameters())
    for x, y in DataLoader(Slow(), batch_size=8):
        with torch.autocast("cpu", dtype=torch.bfloat16, enabled=use_amp):
            loss = nn.functional.cross_entropy(model(x), y)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
