"""Which process of several this one is, as `torchrun` tells each."""

from __future__ import annotations

import os


def rank_of_several() -> str:
    """The number of this process, from 0; empty where it is the only one."""
    rank, size = os.environ.get("RANK", ""), os.environ.get("WORLD_SIZE", "")
    return rank if rank.isdecimal() and size.isdecimal() and int(size) > 1 else ""
