"""`with` statements, and contexts that are entered and left by calls: regions around blocks of an event graph."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TypeGuard

import libcst as cst

from amplint.lowering.conditions import ConditionReader
from amplint.lowering.expressions import ExpressionReader
from amplint.lowering.function_builder import FunctionBuilder
from amplint.lowering.function_scope import works_around
from amplint.lowering.mode_branches import option_asked_again
from amplint.lowering.provenance import Provenance, union
from amplint.model.event_graph import Branch, Node, Scoped, Seq
from amplint.model.events import Region
from amplint.model.records import changed
from amplint.syntax.access_paths import path_of


class ContextReader:
    """Reads what contexts do to the blocks that they stand around.

    Args:
        builder: what the events are written to.
        conditions: reads what options switch a region.
        expressions: reads what is entered.
        block: reads a block.
    """

    def __init__(
        self,
        builder: FunctionBuilder,
        conditions: ConditionReader,
        expressions: ExpressionReader,
        block: Callable[[cst.BaseSuite], Seq],
    ) -> None:
        self._builder, self._conditions, self._expressions, self._block = builder, conditions, expressions, block
        self._site, self._scope, self._program = builder.site, builder.scope, builder.scope.program

    def read(self, node: cst.With) -> Node:
        """The piece of graph of a `with` statement.

        Args:
            node: the statement.
        """
        entered: list[tuple[cst.WithItem, Region]] = []
        leaving: list[Node] = []
        for item in node.items:
            region = self._program.contexts.of(item.item)
            managing = self._program.callees.managing(item.item) if region is None else None
            if self._works_around(item.item):
                value = union(map(self._expressions.read, (arg.value for arg in item.item.args)))
                self._builder.escape(item)
                leaving.append(self._builder.block(partial(self._builder.escape, item)))
            elif managing is not None:
                value = self._expressions.manage(managing[0], item.item)
                leaving.append(self._builder.block(partial(self._expressions.manage, managing[1], item.item)))
            else:
                value = self._expressions.read(item.item)
                value = Provenance(value.args and ("?",))
            if region is not None:
                entered.append((item, region))
            if item.asname is not None:
                self._expressions.assign(item.asname.name, value, item)
        body: Node = Seq((self._block(node.body), *reversed(leaving)))
        for item, region in reversed(entered):
            body = self.switched(item, item.item, region, body)
        return body

    def _works_around(self, context: cst.BaseExpression) -> TypeGuard[cst.Call]:
        """Whether a context is a generator of the project that works with AMP's objects before the block or after it."""
        if type(context) is not cst.Call:
            return False
        found = self._program.callees.of(context, self._scope.node)
        return found is not None and works_around(self._program, found.node)

    def switched(self, place: cst.CSTNode, context: cst.BaseExpression, region: Region, body: Node) -> Node:
        """What a region does to a block; where the block asks for an option that the region is switched by, what it does there
        with the region and without it.

        Args:
            place: the statement that enters it.
            context: the expression that makes it.
            region: the region.
            body: what is done inside.
        """
        on, switch = Scoped(self._site(place), region, body), self._program.contexts.chosen_by(context)
        if switch is None:
            return on
        option = option_asked_again(self._conditions.read(switch.test), switch.wanted, body, self._fields_asked(place))
        off = body if switch.leaves_out else Scoped(on.site, changed(region, enabled="no"), body)
        return Branch(option, on, off) if option is not None else on

    def _fields_asked(self, item: cst.CSTNode) -> frozenset[str]:
        """The attributes that branches of the file ask for, by the names of the options that the object has them from, too."""
        asked, owner = self._program.fields_asked(item), self._program.classes.owner(self._scope.node)
        values = (value for name in asked for value in (owner.values(name) if owner is not None else ()))
        return asked | {path_of(value).rpartition(".")[2] for value in values}
