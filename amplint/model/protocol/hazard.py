"""What a hazard is."""

from __future__ import annotations

from dataclasses import dataclass

from amplint.model.references import reference


@dataclass(frozen=True)
class Hazard:
    """A misuse on a feasible path: its kind, its site, and the sites of the other half by label."""

    kind: str
    site: int
    related: tuple[tuple[str, int], ...] = ()
    scaler: str = ""
    optimizer: str = ""
    details: tuple[str, ...] = ()
    root: str = ""
    """The function whose path showed it."""
    calls: tuple[tuple[int, str], ...] = ()
    """The calls that led from the root to the event: where each stands, and the key of the function that it enters."""

    @property
    def inlined(self) -> bool:
        """Whether the event happened in a function called by the root."""
        return bool(self.calls)

    @property
    def scaler_name(self) -> str:
        """The scaler as the author writes it."""
        return reference(self.scaler).written

    @property
    def optimizer_name(self) -> str:
        """The optimizer as the author writes it."""
        return reference(self.optimizer).written

    def at(self, label: str) -> int:
        """The site filed under a label; -1 when there is none."""
        return dict(self.related).get(label, -1)


Hazards = tuple[Hazard, ...]
