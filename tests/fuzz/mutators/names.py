"""Other names, everywhere or once."""

from __future__ import annotations

import re
from random import Random

from ..corpus import Corpus, tokens

STRANGE = [
    *"""
größe 变量 ﬁ ℌ Å ª print len list range float torch scaler optimizer autocast GradScaler amp match case type _ __ self
cls loss model x None_ __name__ __class__ __file__ e nn F exec
""".split(),
    "l" * 300,
]


def rename(random: Random, text: str, corpus: Corpus) -> str:
    """Give a name another one, wherever it stands."""
    found = sorted({token.text for token in tokens(text) if token.kind == "name"})
    if not found:
        return text
    name, new = random.choice(found), _new(random, found)
    return re.sub(rf"(?<!\w){re.escape(name)}(?!\w)", lambda match: new, text)


def rename_variable(random: Random, text: str, corpus: Corpus) -> str:
    """Give a name that stands behind no dot another one."""
    found = sorted({token.text for token in tokens(text) if token.kind == "name"})
    if not found:
        return text
    name, new = random.choice(found), _new(random, found)
    return re.sub(rf"(?<![\w.]){re.escape(name)}(?!\w)", lambda match: new, text)


def rename_once(random: Random, text: str, corpus: Corpus) -> str:
    """Give a name another one at one place."""
    found = [token for token in tokens(text) if token.kind == "name"]
    if not found:
        return text
    token = random.choice(found)
    return text[: token.start] + _new(random, sorted({each.text for each in found})) + text[token.end :]


def _new(random: Random, found: list[str]) -> str:
    return random.choice(found) if random.random() < 0.4 else random.choice(STRANGE)


ALL = (rename, rename_variable, rename_variable, rename_once)
