"""Caches that were damaged."""

from __future__ import annotations

import json
import os
import random
import shutil
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

from .tree import Broken, Tree, ended

Figures = dict[str, object]


def damaged_caches(tree: Tree, rounds: int) -> Figures:
    """Damage the files of a cache in random ways: what is found must not depend on it, nor may a run fail."""
    wanted = ended(tree.start())
    kept = tree.home / "kept"
    shutil.rmtree(kept, ignore_errors=True)
    shutil.copytree(tree.cache, kept)
    figures: Counter[str] = Counter()
    for _ in range(rounds):
        shutil.rmtree(tree.cache)
        shutil.copytree(kept, tree.cache)
        damage = tree.rng.choice(_DAMAGES)
        for path in sorted(path for path in tree.cache.rglob("*") if path.is_file()):
            damage(path, tree.rng)
        run = ended(tree.start())
        if (run.code, run.out, run.errors) != (wanted.code, wanted.out, []):
            raise Broken(f"with a cache that was damaged ({damage.__name__[1:]}): {run.code} {run.out} {run.err}")
        figures[damage.__name__.strip("_").replace("_", " ")] += 1
    shutil.rmtree(kept)
    tree.check_done(tree.fix())
    return {"rounds": rounds, "files": len(tree.fixable), "damages": dict(figures), "runs that differed": 0}


def _truncated(path: Path, rng: random.Random) -> None:
    os.truncate(path, rng.randrange(path.stat().st_size + 1))


def _random_bytes(path: Path, rng: random.Random) -> None:
    data = bytearray(path.read_bytes())
    for _ in range(rng.randrange(1, 50) if data else 0):
        data[rng.randrange(len(data))] = rng.randrange(256)
    path.write_bytes(data)


def _other_content(path: Path, rng: random.Random) -> None:
    path.write_bytes(
        rng.choice([b"", b"null", b"[]", b"{}", b"[[], []]", b"[{}, {}]", b"[" * 100_000, rng.randbytes(1000)])
    )


def _other_types(path: Path, rng: random.Random) -> None:
    try:
        value = json.loads(path.read_bytes())
    except ValueError:
        return _random_bytes(path, rng)
    for _ in range(rng.randrange(1, 20)):
        value = _mutated(value, rng)
    path.write_text(json.dumps(value))


def _mutated(value: Any, rng: random.Random) -> Any:
    if isinstance(value, list) and value and rng.random() < 0.9:
        index = rng.randrange(len(value))
        return [*value[:index], _mutated(value[index], rng), *value[index + 1 :]]
    if isinstance(value, dict) and value and rng.random() < 0.9:
        key = rng.choice(sorted(value))
        return {**value, key: _mutated(value[key], rng)}
    return rng.choice([None, True, -1, 10**400, 1.5, "text", "\ud800", [], {}, [None], {"x": 1}])


def _a_folder(path: Path, rng: random.Random) -> None:
    path.unlink()
    path.mkdir()


_DAMAGES: list[Callable[[Path, random.Random], None]] = [
    _truncated,
    _random_bytes,
    _other_content,
    _other_types,
    _other_types,
    _a_folder,
]
