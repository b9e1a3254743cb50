import torch
from torch import nn


class Tree(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.cell = nn.Linear(width, width)

    @torch.autocast("cuda", dtype=torch.float16)  # expect: AMP215 display
    def encode(self, node):
        state = self.cell(node.value)
        for child in node.children:
            state = state + self.encode(child)
        return state
