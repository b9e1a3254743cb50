"""Program text in the making: lines, blocks, and the moves that an iteration is made of."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field


@dataclass(frozen=True)
class Block:
    """A statement with a body: `head` ends in a colon."""

    head: str
    body: Code


Line = str | Block
Code = tuple[Line, ...]


def rendered(code: Code, depth: int = 0) -> str:
    """The text of code."""
    return "".join(f"{line}\n" for line in _lines(code, depth))


def _lines(code: Code, depth: int) -> Iterator[str]:
    for line in code:
        if isinstance(line, Block):
            yield f"{'    ' * depth}{line.head}"
            yield from _lines(line.body or ("pass",), depth + 1)
        else:
            yield f"{'    ' * depth}{line}" if line else ""


def words(code: Code) -> set[str]:
    """The names in code, those behind a dot left out."""
    return set(re.findall(r"(?<![\w.\"])[A-Za-z_]\w*", rendered(code)))


def renamed(code: Code, names: dict[str, str]) -> Code:
    """Code with some of its names changed."""
    if not names:
        return code
    pattern = re.compile(rf"(?<![\w.\"])({'|'.join(map(re.escape, names))})\b(?!=[^=])")

    def change(text: str) -> str:
        return pattern.sub(lambda match: names[match[1]], text)

    return tuple(
        Block(change(line.head), renamed(line.body, names)) if isinstance(line, Block) else change(line)
        for line in code
    )


@dataclass(frozen=True)
class Move:
    """One move of an iteration: what it is, its code, and the conditions under which it is made.

    `plain` is what stands in its place where the scaler is None (None: the same).
    """

    kind: str
    code: Code
    plain: Code | None = None
    guards: tuple[str, ...] = field(default=())


def grouped(moves: Sequence[Move], together: bool) -> Code:
    """The code of moves with `if` statements for their guards.

    `together` puts neighbours with the same guard under one `if`; otherwise each has its own.
    """
    code: list[Line] = []
    position = 0
    while position < len(moves):
        first = moves[position]
        run = [first]
        if first.guards:
            while together and position + len(run) < len(moves):
                following = moves[position + len(run)]
                if following.guards[:1] != first.guards[:1]:
                    break
                run.append(following)
            inner = [Move(each.kind, each.code, each.plain, each.guards[1:]) for each in run]
            code.append(Block(f"if {first.guards[0]}:", grouped(inner, together)))
        else:
            code += first.code
        position += len(run)
    return tuple(code)


def joined(moves: Iterable[Move], plain: bool) -> Code:
    """The code of moves one after the other; `plain`: where the scaler is None."""
    return tuple(line for move in moves for line in (move.plain if plain and move.plain is not None else move.code))
