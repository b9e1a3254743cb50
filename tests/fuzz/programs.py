"""Generated training programs: those of the campaign in which the witnesses must agree."""

from __future__ import annotations

from campaign.grammar import programs as drawn
from campaign.program import Program
from hypothesis import HealthCheck, Phase, given, seed, settings


def programs(first: int, count: int) -> list[str]:
    """So many programs."""
    texts: list[str] = []

    @seed(first)
    @settings(
        max_examples=count,
        phases=(Phase.generate,),
        deadline=None,
        database=None,
        suppress_health_check=list(HealthCheck),
    )
    @given(drawn())
    def collect(program: Program) -> None:
        texts.append(program.text)

    collect()
    return sorted(set(texts))
