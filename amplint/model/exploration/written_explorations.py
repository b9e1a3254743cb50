"""What following the paths of a function comes to, and all that this depends on, both written out.

Following paths asks for nothing but graphs of events and what is known of objects. So the same graphs show the same, whatever
text they were made of: an edit that changes no slice changes nothing of what its paths show. In what is written out, sites are
numbered from the first that is mentioned, so that a place which only moves stays the same.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import fields
from functools import partial
from hashlib import blake2b
from typing import Any

from amplint.model import events as event_kinds
from amplint.model.event_graph import Function
from amplint.model.events import Event, ObjectFacts
from amplint.model.exploration.effects import Flows
from amplint.model.protocol.hazard import Hazard, HazardKind
from amplint.model.records import changed, frozen
from amplint.model.references import DIGITS, site_text

_SITE = "@"
"""What a site begins with where it is written out, as it does in the key of a function."""
_MENTIONED = re.compile(rf"(?<=[@%])\d{{{DIGITS}}}(?!\d)")
"""The number of a site in what is written out: by itself, in the key of a function, and in a reference without a name."""
_WHOLE = re.compile(r"\bint\b")
_WORD = re.compile(r"\w+")
_BEYOND = re.compile(rf"[@%]\d{{{DIGITS + 1}}}")


@frozen
class Exploration:
    """What the paths of a function show.

    `hazards` is what was found, in order; `events` what happens in functions that are written out. `gave_up` says that the
    bound was met, and not all paths were seen; `degraded` that somewhere what differs between states was forgotten.
    """

    hazards: tuple[Hazard, ...]
    events: tuple[Event, ...]
    gave_up: bool = False
    degraded: bool = False


@frozen
class Basis:
    """All that an exploration depends on.

    Attributes:
        digest: stands for it; sites are numbered in it from the first.
        sites: the numbers of these sites, in order.
    """

    digest: str
    sites: tuple[str, ...]

    def written(self, exploration: Exploration) -> str:
        """An exploration as a text that holds wherever the digest is the same.

        Args:
            exploration: what was found on this basis.
        """
        return _renamed(json.dumps(_plain(exploration)), self.sites, _first(len(self.sites)))

    def read(self, text: str) -> Exploration:
        """The exploration that was written out on a basis of the same digest.

        Args:
            text: as `written` gives it.
        """
        found: Exploration = _read(json.loads(_renamed(text, _first(len(self.sites)), self.sites)))
        return changed(found, hazards=tuple(changed(each, kind=HazardKind(each.kind)) for each in found.hazards))


def basis_of(
    root: Function, flows: Flows, objects: Mapping[str, ObjectFacts], nothing_scales: bool, nobody_unscales: bool
) -> Basis | None:
    """What it depends on what the paths of a function show; None for what is too large to be written out.

    Args:
        root: the function.
        flows: the graphs that its calls may enter.
        objects: what is known of the references in it.
        nothing_scales: whether the whole program is known to call `scale` nowhere.
        nobody_unscales: whether no code in sight calls `unscale_`.
    """
    functions = flows.reached(root)
    try:
        graphs = [flows.once(("written", key), partial(_graph, each)) for key, each in functions.items()]
        known = [[name, _plain(each)] for name, each in objects.items()]
        nesting = [key for key, each in functions.items() if each.key in flows.nesting]
        elsewhere = [nothing_scales, nobody_unscales, flows.steps_past, flows.unscales]
        text = _json([*functions, nesting, elsewhere, known]) + "".join(graphs)
    except RecursionError:
        return None
    words = set(_WORD.findall(text))  # a variable that nothing mentions is none of which anybody knows
    text += _json([sorted(each.locals & words) for each in functions.values()])
    if _BEYOND.search(text):
        return None  # longer numbers stand in another order as texts than as numbers
    sites = tuple(sorted(set(_MENTIONED.findall(text))))
    digest = blake2b(_renamed(text, sites, _first(len(sites))).encode(), digest_size=20).hexdigest()
    return Basis(digest, sites)


def _graph(function: Function) -> str:
    return _json(_plain(changed(function, locals=frozenset())))


def _json(plain: Any) -> str:
    return json.dumps(plain, ensure_ascii=False)


def _first(count: int) -> tuple[str, ...]:
    return tuple(map(site_text, range(count)))


def _renamed(text: str, old: tuple[str, ...], new: tuple[str, ...]) -> str:
    """A text with other numbers of sites, in the same order, so that whatever goes by that comes out the same."""
    names = dict(zip(old, new))
    return _MENTIONED.sub(lambda found: names[found[0]], text)


def _plain(value: Any, is_site: bool = False) -> Any:
    """Records, and what they hold, as what JSON can write; whole numbers where sites stand are marked."""
    kind = type(value)
    if kind is str or value is None or kind is bool:
        return value
    if kind is tuple:
        return [_plain(each, is_site) for each in value]
    if kind is frozenset:
        return {"": sorted(_plain(each, is_site) for each in value)}
    if hasattr(kind, "__dataclass_fields__"):
        return {kind.__name__: [_plain(getattr(value, name), holds_sites) for name, holds_sites in _fields(kind)]}
    return f"{_SITE}{site_text(value)}" if is_site and kind is int else value


def _read(plain: Any, is_site: bool = False) -> Any:
    """What `_plain` has made plain."""
    if type(plain) is list:
        return tuple([_read(each, is_site) for each in plain])
    if type(plain) is dict:
        ((name, content),) = plain.items()
        kind = _KINDS[name]
        return kind(*(_read(each, holds_sites) for each, (_, holds_sites) in zip(content, _fields(kind))))
    return int(plain[1:]) if is_site and type(plain) is str and plain.startswith(_SITE) else plain


def _fields(kind: type[Any]) -> tuple[tuple[str, bool], ...]:
    """The fields of a record that tell it from others, and whether whole numbers in them are sites."""
    if kind not in _FIELDS:
        compared = (each for each in fields(kind) if each.compare)
        _FIELDS[kind] = tuple((each.name, _WHOLE.search(str(each.type)) is not None) for each in compared)
    return _FIELDS[kind]


_FIELDS: dict[type[Any], tuple[tuple[str, bool], ...]] = {}
_KINDS = {
    each.__name__: each
    for each in (*vars(event_kinds).values(), Hazard, Exploration)
    if isinstance(each, type) and hasattr(each, "__dataclass_fields__")
}
"""The records that an exploration holds, by name."""
