"""Syntax up to Python 3.14; what this Python does not know must be told as a syntax error."""

from __future__ import annotations

import re
from random import Random

from ..corpus import Corpus, tokens
from .lines import indent_of, row, split

STATEMENTS = r"""
match scaler:
    case torch.amp.GradScaler(_enabled=True) as s if s:
        s.update()
    case [x, *_] | (x, _):
        pass
    case _:
        scaler.step(optimizer)

match = case = type = 1
match[case], type

if (loss := scaler.scale(loss)) is not None:
    loss.backward()

while (batch := next(it, None)) is not None:
    scaler.scale(model(batch)).backward()

try:
    scaler.step(optimizer)
except* (ValueError, OSError) as group:
    raise group

try:
    scaler.step(optimizer)
except ValueError, OSError:
    scaler.update()

type Pair[T: int, *Ts, **P] = tuple[T, *Ts]

def generic[T: (int, str) = int](scaler: T, /, *, loss: list[T] = []) -> T:
    scaler.scale(loss).backward()
    return scaler

class Box[T, *Ts]:
    scaler: T = torch.amp.GradScaler()
    def step[U](self, optimizer: U):
        self.scaler.step(optimizer)

print(f"{scaler.get_scale():{'>' + str(width)}} {'nested' + f'{loss!r}'} {loss=}")

print(f'{d['key']} {
    scaler.get_scale()  # comment
}')

log(t'{scaler.get_scale()!r:>{width}} {loss}')

async def step():
    async with lock, other as o:
        [await x async for x in loader if await x]
        scaler.step(optimizer)

def positional(scaler, loss, /, optimizer, *, steps: int = 1, **rest): scaler.step(optimizer)

with (torch.autocast('cuda') as a, torch.no_grad(),):
    loss = model(x); loss.backward()

@(lambda f: f)
@buttons[0].clicked.connect
def decorated(): return scaler

x[*rest], y[1:2, ::3, ...] = *a, *b

def annotated(a: 'Undefined', b: scaler.step(optimizer) = None) -> (yield_ := 3): ...

global scaler

nonlocal scaler

del scaler, optimizer

return scaler.step(optimizer)

yield scaler.scale(loss)

await scaler.scale(loss)

break

continue

from torch.amp import *

from torch.cuda.amp import (autocast as half, GradScaler as _Scaler,)  # why

import torch.cuda.amp as amp, torch

from __future__ import annotations

lambda *a, scaler=scaler, **k: scaler.step(optimizer)

assert scaler.step(optimizer), (loss, )

raise scaler.update() from loss

scaler: torch.amp.GradScaler

scaler, (optimizer, *rest) = make()

scaler = optimizer = scheduler = make()

scaler += 1

for scaler.x, optimizer[0] in pairs: scaler.step(optimizer)

with autocast() as scaler: scaler.step(optimizer)

[scaler.step(o) for o in optimizers if (s := o)]

print(*(scaler.scale(l).backward() for l in losses), sep='')

0xFF_FF, 1_000j, 0b1, 1e-8, .5, 10**400, b'\xff', rb'\d', u'x', '\N{BULLET}', ...

'''doc
string'''; scaler.update()

print 'python 2'

exec 'x' in d

scaler.step(optimizer) if ok else scaler.update()

not scaler and (yield)

try:
    pass
finally:
    return

class scaler(metaclass=scaler, **k): scaler = scaler()

def f(a, b=autocast(), *c: int, d, e=GradScaler(), **g): return locals()

x = yield_ = (yield)

if True: pass; scaler.step(optimizer)
else: scaler.update()

__all__ = ['autocast', 'GradScaler']
""".strip("\n").split("\n\n")
_HEADS = r'''
"""Doc."""

from __future__ import annotations

#!/usr/bin/env python

'doc'; import torch; x = 1

"""Doc."""; from __future__ import division

# -*- coding: utf-8 -*-

if True:
    import torch

try:
    from torch.amp import autocast
except ImportError:
    from torch.cuda.amp import autocast
'''.strip("\n").split("\n\n")
_IMPORTS = r"""
import torch as th

import torch.cuda.amp

from torch import amp, optim, nn

from torch.amp import autocast, GradScaler

import torch, math; import os

from torch.cuda import amp

from torch.cuda.amp.grad_scaler import GradScaler

try: import torch
except ImportError: torch = None

from torch.cuda.amp import (
    autocast,  # one
    GradScaler,
)

import torch  # noqa

from torch.cuda.amp import autocast as autocast, GradScaler

if TYPE_CHECKING:
    import torch
""".strip("\n").split("\n\n")
_ARGUMENTS = (
    '*args', '{}, **kwargs', '**kwargs', '\n    {}\n', '{},',
    '{}  # why\n', '*args, {}', 'enabled=False', '{}, enabled=use_amp', "'cuda', torch.float16",
    "device_type='cuda', dtype=dtype", '\n\n{}', '\t{}\t', '{} for _ in x', '\\\n{}',
    '*{}', '',
)  # fmt: skip
_FORMS = (
    '(new := {})', '(lambda: {})()', '[{}][0]', "f'{{{}}}'", '*{}',
    '({},)', 'await {}', '(yield {})', '({} if scaler else {})', 'not {}',
    '{{**{}}}',
)  # fmt: skip


def statement(random: Random, text: str, corpus: Corpus) -> str:
    """Put a statement of rare syntax between two lines."""
    lines = split(text)
    if not lines:
        return text
    at = row(random, lines)
    indent = indent_of(lines[at])
    return "".join([*lines[:at], *(f"{indent}{line}\n" for line in random.choice(STATEMENTS).split("\n")), *lines[at:]])


def future(random: Random, text: str, corpus: Corpus) -> str:
    """Begin with a docstring, a future import, a shebang or an encoding."""
    return f"{random.choice(_HEADS)}\n{text}"


def walrus(random: Random, text: str, corpus: Corpus) -> str:
    """Bind a word where it stands."""
    found = [token for token in tokens(text) if token.kind in ("name", "number", "string")]
    if not found:
        return text
    token = random.choice(found)
    form = random.choice(_FORMS)
    return text[: token.start] + form.format(*[token.text] * form.count("{}")) + text[token.end :]


def alias(random: Random, text: str, corpus: Corpus) -> str:
    """Spell an import in another way."""
    found = list(re.finditer(r"^( *)(?:import torch|from torch[\w.]* import [\w, ]+)$", text, re.MULTILINE))
    if not found:
        return text
    match = random.choice(found)
    new = random.choice(_IMPORTS)
    lines = "\n".join(match[1] + line for line in new.split("\n"))
    kept = f"{match[0]}\n" if random.random() < 0.6 else ""
    return f"{text[: match.start()]}{kept}{lines}{text[match.end() :]}"


def arguments(random: Random, text: str, corpus: Corpus) -> str:
    """Give a call other arguments, or lay them out in another way."""
    found = list(re.finditer(r"\(([^()\n]*)\)", text))
    if not found:
        return text
    match = random.choice(found)
    new = random.choice(_ARGUMENTS).format(match[1])
    return f"{text[: match.start()]}({new}){text[match.end() :]}"


ALL = (statement, statement, future, walrus, alias, arguments)
