"""All steps of schedulers in a file that nothing gates: what several of them share is found once."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

import libcst as cst

from amplint.model.protocol.hazard import HazardKind
from amplint.rule import File, Statement


class UngatedSchedules:
    """The ungated steps of a file, by the statements that hold them, by their functions and by their scalers."""

    def __init__(self, file: File) -> None:
        self._file = file
        self._steps: dict[cst.CSTNode | None, list[cst.CSTNode | None]] = {}
        self._calls: dict[cst.CSTNode | None, set[str]] = {}
        self._of_scalers: dict[str, list[cst.CSTNode]] = {}
        self._runs: dict[cst.CSTNode, tuple[Statement, ...]] = {}
        self._members: dict[tuple[str, cst.CSTNode], set[Statement | None]] = {}
        for each in file.analysis.of(HazardKind.SCHEDULER_NOT_GATED):
            step = each.related.get("step")
            self._steps.setdefault(line_of(file, each.node), []).append(step)
            self._calls.setdefault(file.tree.function(each.node), set()).add(file.tree.text(each.node))
            if step is not None:
                self._of_scalers.setdefault(each.hazard.scaler, []).append(step)

    def steps(self, lines: Iterable[cst.CSTNode]) -> list[cst.CSTNode | None]:
        """The optimizer steps that the schedulers in some statements follow; None for one that is not in sight."""
        return [step for line in lines for step in self._steps.get(line, ())]

    def are_several(self, home: cst.CSTNode | None) -> bool:
        """Whether several schedulers advance in a function."""
        return len(self._calls.get(home, ())) > 1

    def run(self, line: cst.SimpleStatementLine) -> tuple[Statement, ...]:
        """The neighbouring statements that all step an ungated scheduler, `line` among them."""
        if line not in self._steps:
            return (line,)
        if line not in self._runs:
            for ungated, run in groupby(self._file.editor.siblings(line), self._is_ungated):
                together = tuple(each for each in run if ungated and isinstance(each, cst.SimpleStatementLine))
                self._runs.update(dict.fromkeys(together, together))
        return self._runs[line]

    def _is_ungated(self, statement: cst.CSTNode) -> bool:
        return isinstance(statement, cst.SimpleStatementLine) and statement in self._steps

    def members(self, scaler: str, block: cst.CSTNode) -> set[Statement | None]:
        """The statements of a block in which a scaler takes a step that schedulers follow.

        Args:
            scaler: the reference of the scaler.
            block: the block.
        """
        if (scaler, block) not in self._members:
            steps = self._of_scalers.get(scaler, ())
            self._members[scaler, block] = {self._file.editor.member_of(step, block) for step in steps}
        return self._members[scaler, block]


def line_of(file: File, call: cst.CSTNode) -> cst.CSTNode | None:
    """What holds a call that is a statement, and nothing else."""
    expression = file.tree.parent(call)
    line = file.tree.parent(expression) if isinstance(expression, cst.Expr) else None
    return (
        line if isinstance(line, (cst.SimpleStatementLine, cst.SimpleStatementSuite)) and len(line.body) == 1 else None
    )
