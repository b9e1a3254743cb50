"""Blocks put around statements."""

from __future__ import annotations

from random import Random

from ..corpus import Corpus
from .lines import indent_of, row, split

HEADS = """
if scaler is not None:

if args.amp:

if step % 4 == 0:

while True:

for _ in range(3):

with open(path) as file:

with torch.no_grad():

with torch.autocast("cuda", dtype=torch.float16):

with torch.cuda.amp.autocast(enabled=use_amp), torch.no_grad():

def inner(model, loss=None, *rest, **named):

async def inner():

class Inner(Base):

match kind:
    case [1, *_] | {'a': _} if ready:

@torch.autocast('cuda')
def decorated(self, x):

if __name__ == '__main__':

async def main():
    async with lock:

async def main():
    async for batch in loader:

for epoch in range(9):
    for i, (x, y) in enumerate(loader):

with (a() as b, torch.autocast('cuda')):

class Trainer:
    def train(self, scaler, optimizer):

try:
""".strip("\n").split("\n\n")
TAILS = {
    "try": [
        "except Exception:\n    pass",
        "finally:\n    done()",
        "except (A, B) as e:\n    raise",
        "except* A:\n    pass",
    ],
    "if": ["", "else:\n    scaler = None", "elif other:\n    pass"],
    "for": ["", "else:\n    pass"],
    "while": ["", "else:\n    break_here = 1"],
}
"""What may follow the block of a head, by its first word."""


def wrap(random: Random, text: str, corpus: Corpus) -> str:
    """Put a statement, with a few that follow it, into a block."""
    lines = split(text)
    if not text.strip():
        return text
    start = row(random, lines)
    end = _end(lines, start, random.choice((1, 1, 2, 3, 9)))
    indent = indent_of(lines[start])
    head = random.choice((*HEADS, "try:", "try:")).split("\n")
    depth = len(indent_of(head[-1])) + 4
    inner = [f"{' ' * depth}{line}" if line.strip() else line for line in lines[start:end]]
    if inner and not inner[-1].endswith("\n"):
        inner[-1] += "\n"
    tail = random.choice(TAILS.get(head[-1].split()[0].rstrip(":"), [""])).split("\n")
    wrapped = [f"{indent}{line}\n" for line in head] + inner + [f"{indent}{line}\n" for line in tail if line]
    return "".join(lines[:start] + wrapped + lines[end:])


def _end(lines: list[str], start: int, count: int) -> int:
    """The line behind `count` statements."""
    indent, end = indent_of(lines[start]), start + 1
    while end < len(lines):
        line = lines[end]
        if line.strip():
            deeper = line.startswith(indent) and indent_of(line) != indent
            count -= not deeper
            if not line.startswith(indent) or not count:
                break
        end += 1
    return end


def unwrap(random: Random, text: str, corpus: Corpus) -> str:
    """Take a block's head away, and leave what is in it."""
    lines = split(text)
    heads = [at for at, line in enumerate(lines[:-1]) if line.rstrip().endswith(":") and _opens(lines, at)]
    if not heads:
        return text
    at = random.choice(heads)
    outer, inner = indent_of(lines[at]), indent_of(lines[at + 1])
    end = _end(lines, at, 1)
    body = [outer + line[len(inner) :] if line.startswith(inner) else line for line in lines[at + 1 : end]]
    return "".join(lines[:at] + body + lines[end:])


def _opens(lines: list[str], at: int) -> bool:
    return len(indent_of(lines[at + 1])) > len(indent_of(lines[at]))


ALL = (wrap, wrap, wrap, unwrap)
