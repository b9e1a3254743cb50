"""Changes of whole lines and of their indentation."""

from __future__ import annotations

import re
from collections.abc import Callable
from random import Random

from ..corpus import AMP, Corpus

_INDENT = re.compile(r"[ \t]*")


def split(text: str) -> list[str]:
    """The lines of a text, each with its `\\n`."""
    return re.findall(r"[^\n]*\n|[^\n]+", text)


def indent_of(line: str) -> str:
    """The white space a line begins with."""
    match = _INDENT.match(line)
    return match.group() if match else ""


def row(random: Random, lines: list[str]) -> int:
    """A row, half of the time one that speaks of mixed precision."""
    if random.random() < 0.5:
        found = [at for at, line in enumerate(lines) if AMP.search(line)]
        if found:
            return random.choice(found)
    return random.randrange(len(lines))


def _span(random: Random, lines: list[str]) -> tuple[int, int]:
    """From some line to one a little below."""
    start = row(random, lines)
    return start, min(len(lines), start + random.choice((1, 1, 1, 2, 4, 8)))


def delete(random: Random, text: str, corpus: Corpus) -> str:
    """Leave out lines."""
    lines = split(text)
    if not lines:
        return text
    start, end = _span(random, lines)
    return "".join(lines[:start] + lines[end:])


def duplicate(random: Random, text: str, corpus: Corpus) -> str:
    """Write lines twice."""
    lines = split(text)
    if not lines:
        return text
    start, end = _span(random, lines)
    return "".join(lines[:end] + lines[start:])


def swap(random: Random, text: str, corpus: Corpus) -> str:
    """Let two neighbours change places."""
    lines = split(text)
    if len(lines) < 2:
        return text
    at = random.randrange(len(lines) - 1)
    lines[at], lines[at + 1] = lines[at + 1], lines[at]
    return "".join(lines)


def move(random: Random, text: str, corpus: Corpus) -> str:
    """Put lines elsewhere, indented as those that stand there."""
    lines = split(text)
    if len(lines) < 2:
        return text
    start, end = _span(random, lines)
    moved = lines[start:end]
    rest = lines[:start] + lines[end:]
    if not rest:
        return text
    at = random.randrange(len(rest))
    moved = [indent_of(rest[at]) + line.removeprefix(indent_of(moved[0])) for line in moved]
    return "".join(rest[:at] + moved + rest[at:])


def splice(random: Random, text: str, corpus: Corpus) -> str:
    """Put a line of another file here, indented as the line below."""
    lines = split(text)
    if not lines:
        return text
    at = row(random, lines)
    return "".join([*lines[:at], f"{indent_of(lines[at])}{corpus.line(random).strip()}\n", *lines[at:]])


def join(random: Random, text: str, corpus: Corpus) -> str:
    """The beginning of this file and the end of another one."""
    lines, others = split(text), split(corpus.text(random))
    if not lines or not others:
        return text
    starts = [at for at, line in enumerate(others) if not indent_of(line) and line.strip()]
    return "".join(lines[: random.randrange(len(lines) + 1)] + others[random.choice(starts or [0]) :])


def semicolons(random: Random, text: str, corpus: Corpus) -> str:
    """Write two statements on one line."""
    lines = split(text)
    pairs = [at for at in range(len(lines) - 1) if indent_of(lines[at]) == indent_of(lines[at + 1])]
    if not pairs:
        return text
    at = random.choice(pairs)
    lines[at : at + 2] = [f"{lines[at].rstrip()}{random.choice((';', '; '))}{lines[at + 1].lstrip()}"]
    return "".join(lines)


def flatten(random: Random, text: str, corpus: Corpus) -> str:
    """Write a block of one statement behind its colon."""
    lines = split(text)
    heads = [at for at in range(len(lines) - 1) if lines[at].rstrip().endswith(":")]
    if not heads:
        return text
    at = random.choice(heads)
    lines[at : at + 2] = [f"{lines[at].rstrip()} {lines[at + 1].lstrip()}"]
    return "".join(lines)


def wrap_long(random: Random, text: str, corpus: Corpus) -> str:
    """Break a line behind a comma or a parenthesis, or with a backslash before a word."""
    places = [match.end() for match in re.finditer(r"[(,\[{](?=[^\n]*[)\]}])|(?<=\S) (?=\S)", text)]
    if not places:
        return text
    at = random.choice(places)
    middle = "\n" + " " * random.choice((0, 4, 8, 30)) if text[at - 1] != " " else "\\\n" + " " * random.randrange(9)
    return text[:at] + middle + text[at:]


def _reindented(random: Random, text: str, change: Callable[[str], str]) -> str:
    lines = split(text)
    if not lines:
        return text
    start, end = _span(random, lines)
    return "".join(
        [*lines[:start], *(change(line) if line.strip() else line for line in lines[start:end]), *lines[end:]]
    )


def indent(random: Random, text: str, corpus: Corpus) -> str:
    """Indent lines further."""
    return _reindented(random, text, lambda line: random.choice(("    ", " ", "\t")) + line)


def dedent(random: Random, text: str, corpus: Corpus) -> str:
    """Indent lines less."""
    return _reindented(random, text, lambda line: line.removeprefix("    ") if random.random() < 0.9 else line[1:])


def tabs(random: Random, text: str, corpus: Corpus) -> str:
    """Indent with tabs, with other widths, or with a mixture."""
    unit = random.choice(("\t", "  ", " ", "        ", "\t ", "   "))
    pattern = re.compile(r"^(?: {4})+", re.MULTILINE)
    rare = random.random() < 0.2

    def change(match: re.Match[str]) -> str:
        if rare and random.random() < 0.5:
            return match.group().replace("        ", "\t", 1)
        return unit * (len(match.group()) // 4)

    return pattern.sub(change, text)


ALL = (delete, duplicate, swap, move, move, splice, splice, join, semicolons, flatten, wrap_long, indent, dedent, tabs)
