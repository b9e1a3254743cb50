"""The graph of one function while it is made: the scope of its names, and the block that events are appended to."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from amplint.lowering.function_scope import FunctionScope
from amplint.lowering.provenance import Provenance
from amplint.model.event_graph import Node, Seq
from amplint.model.events import Assign, Escape, Event, ScalerStep
from amplint.model.references import TEMPORARY, site_text


class FunctionBuilder:
    """What the readers of statements, expressions and calls write to.

    Args:
        scope: the function, and what its names mean.
    """

    def __init__(self, scope: FunctionScope) -> None:
        self.scope = scope
        self.site = scope.program.site
        self._block: list[Node] = []

    def emit(self, node: Node) -> None:
        """Append an event, or a piece of graph, to the block at hand."""
        self._block.append(node)

    def told(self, event: Event) -> Provenance:
        """Append an event, and say what a call gives back that is nothing else: nothing that anybody asks for.

        Args:
            event: the event.
        """
        self.emit(event)
        return Provenance()

    @property
    def step_before(self) -> int:
        """The site of the last step of a scaler in the block at hand; -1 where there is none."""
        return max((each.site for each in self._block if isinstance(each, ScalerStep)), default=-1)

    def block(self, fill: Callable[[], object]) -> Seq:
        """The block of what `fill` emits."""
        outer, self._block = self._block, []
        fill()
        block, self._block = Seq(tuple(self._block)), outer
        return block

    def escape(self, node: cst.CSTNode) -> None:
        """Emit that here something may happen to the objects of AMP that nobody knows."""
        self.emit(Escape(self.site(node), ()))

    def temporary(self, node: cst.CSTNode) -> str:
        """A reference for a value without a name."""
        return f"{TEMPORARY}{site_text(self.site(node))}"

    def assign(
        self,
        node: cst.CSTNode,
        target: str,
        value: Provenance,
        truth: bool | None = None,
        number: float | None = None,
        added: float | None = None,
        present: bool = False,
        after_step: bool = False,
    ) -> None:
        """Emit that a reference gets a value.

        Args:
            node: the node that assigns it.
            target: the reference.
            value: where the value comes from.
            truth: the truth of the value, where it is a constant.
            number: the value, where it is a number that is written out.
            added: such a number, where the value is what the target was and this.
            present: whether the value is there, where the target is None elsewhere.
            after_step: whether a scaler's step comes before it whenever it happens, and nothing after that gives another value.
        """
        handed_back = target in value.carried or target in value.args
        self.emit(
            Assign(
                self.site(node),
                target,
                value.carried,
                value.args,
                value.computes,
                truth,
                number,
                added,
                handed_back,
                value.leaf,
                present,
                after_step,
            )
        )

    def assign_temporary(self, node: cst.CSTNode, value: Provenance) -> str:
        """Give a value a reference of its own.

        Args:
            node: the node that makes the value.
            value: where the value comes from.
        """
        target = self.temporary(node)
        self.assign(node, target, value)
        return target

    def reference_of(self, node: cst.CSTNode, value: Provenance) -> str:
        """One reference for a value without a name: what hands it on alone, or else one of its own.

        Args:
            node: the node that makes the value.
            value: where the value comes from.
        """
        if len(value.carried) == 1 and not value.args and not value.computes:
            return value.carried[0]
        return self.assign_temporary(node, value)
