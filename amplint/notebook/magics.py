"""What only IPython understands, masked by Python that does nothing and is as long, so that every place stays.

A magic, a shell line or a call for help begins a statement: in brackets, in strings and behind a backslash the same characters
are Python.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator, Sequence

from amplint.model.records import NamedTuple
from amplint.system import limits

_ONLY_AST = 0x400
"""`ast.PyCF_ONLY_AST`, without the cost of that module."""
_PYTHON_MAGICS = frozenset(
    {"capture", "debug", "lprun", "memit", "mprun", "prun", "px", "scalene", "snakeviz", "time", "timeit", "wandb"}
)
"""With two `%`, they run the Python below them."""
_LANGUAGE_MAGICS = frozenset({"fs", "md", "md-sandbox", "r", "scala", "sh", "sql"})
"""Databricks writes them with one `%`, for the whole cell; elsewhere that may be a line of its own among Python."""
_AUTOMATIC = frozenset(
    "autoreload bookmark cat cd colors conda cp dhist dirs edit env history ldir less lf lk ll load load_ext loadpy ls lsmagic "
    "lx macro magic mamba man matplotlib mkdir more mv notebook pdb pfile pip popd precision pushd pwd pycat pylab recall "
    "rehashx reload_ext rerun reset rm rmdir run save store time timeit unload_ext uv who whos writefile xmode".split()
)
"""Magics and aliases that IPython takes without `%`, where they begin the only line of a cell that is no Python."""
_ASSIGNED = re.compile(r"(\s*[^\s=#'\"%!?][^=#'\"%!?]*=\s*)([!%][^\n]*)")
_HELP = re.compile(r"\s*(?:\?|%{0,2}[^\W\d](?:[\w.*]|\[[^]]*\])*\?{1,2}\s*$)")
_TIMED = re.compile(r"(\s*)%time\s(.+)", re.DOTALL)
_MARKS = re.compile(r"\"\"\"|'''|[\"'#(\[{)\]}]")
_ENDS = {quote: re.compile(rf"(?:\\.|[^\\])*?{quote}", re.DOTALL) for quote in ('"""', "'''", '"', "'")}


class _Open(NamedTuple):
    """What the lines so far leave open: a string that ends with `quote`, brackets, a backslash at the end."""

    quote: str = ""
    brackets: int = 0
    backslash: bool = False


def masked(lines: Sequence[str]) -> tuple[str, ...]:
    """The lines of a cell as Python; a cell in another language does nothing."""
    first = next((line.lstrip() for line in lines if line.strip()), "")
    if not first or _is_python("".join(lines)):
        return tuple(lines)
    if first.split()[0] in _AUTOMATIC and sum(bool(line.strip()) for line in lines) == 1:
        return tuple(_as_pass(line) if line.strip() else line for line in lines)
    magic = (first.lstrip("%").split() or [""])[0]
    if first.startswith("%%") and magic not in _PYTHON_MAGICS:
        return muted(lines)
    found = tuple(_by_line(lines))
    if first.startswith("%") and magic in _LANGUAGE_MAGICS and not _is_python("".join(found)):
        return muted(lines)
    return found


def muted(lines: Sequence[str]) -> tuple[str, ...]:
    """Lines of which nothing is left but their length."""
    return tuple(map(_as_comment, lines))


def _is_python(text: str) -> bool:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            limits.refuse_long(text, limits.WORDS)
            compile(text, "<cell>", "exec", _ONLY_AST, dont_inherit=True)
        except (SyntaxError, ValueError, RecursionError, MemoryError, limits.TextTooLong):
            return False
    return True


def _by_line(lines: Sequence[str]) -> Iterator[str]:
    before, in_command = _Open(), False
    for line in lines:
        if in_command:
            yield _as_comment(line)
        elif before != _Open():
            before = _after(line, before)
            yield line
            continue
        elif line.lstrip().startswith(("%", "!")) or _HELP.match(line):
            yield _timed(line) or _as_pass(line)
            in_command = True
        else:
            code = _without_magic(line)
            before = _after(code, before)
            yield code
        in_command = in_command and line.rstrip("\r\n").endswith("\\")


def _after(line: str, before: _Open) -> _Open:
    """What is open after a line of Python."""
    quote, brackets, position = before.quote, before.brackets, 0
    backslash = line.rstrip("\r\n").endswith("\\")
    while True:
        if quote:
            end = _ENDS[quote].match(line, position)
            if end is None:  # a string of one line ends with it
                return _Open(quote if len(quote) == 3 or backslash else "", brackets)
            position = end.end()
        mark = _MARKS.search(line, position)
        if mark is None or mark[0] == "#":
            return _Open("", brackets, mark is None and backslash)
        position = mark.end()
        quote = mark[0] if mark[0] in _ENDS else ""
        if not quote:
            brackets = max(brackets + (1 if mark[0] in "([{" else -1), 0)


def _as_comment(line: str) -> str:
    body = line.rstrip("\r\n")
    return "#" * len(body) + line[len(body) :]


def _as_pass(line: str) -> str:
    body = line.rstrip("\r\n")
    indent = body[: len(body) - len(body.lstrip())]
    return indent + _idle("pass", len(body) - len(indent)) + line[len(body) :]


def _timed(line: str) -> str | None:
    """The statement behind `%time`, which runs it."""
    match = _TIMED.match(line)
    if match is None:
        return None
    code = f"0;    {match[2]}"
    return match[1] + code if _is_python(code) else None


def _without_magic(line: str) -> str:
    """A line with the magic that it assigns (`files = !ls`) taken for None."""
    match = _ASSIGNED.match(line)
    if match is None:
        return line
    return match[1] + _idle("None", len(match[2].rstrip("\r"))) + line[match.start(2) + len(match[2].rstrip("\r")) :]


def _idle(word: str, length: int) -> str:
    """Python of a given length that does nothing."""
    return word + "#" * (length - len(word)) if length >= len(word) else "0" * length
