"""What files ask of others: of which class the object is that these give a parameter, or that a function of theirs makes."""

from __future__ import annotations

import ast
from collections.abc import Iterable
from pathlib import Path

from amplint.callgraph.definitions import Definition
from amplint.callgraph.handed_arguments import Argument
from amplint.callgraph.held_values import HeldValues
from amplint.callgraph.import_graph import ImportGraph
from amplint.callgraph.made_objects import MadeObject, MadeObjects
from amplint.callgraph.named_objects import NamedObjects
from amplint.model.caller_contexts import AskedObject, ObjectElsewhere


class ObjectAnswers:
    """Answers the questions of files.

    Args:
        graph: the files of the project.
        values: what their expressions may hold.
        named: what their parameters are given.
    """

    def __init__(self, graph: ImportGraph, values: HeldValues, named: NamedObjects) -> None:
        self._graph, self._values, self._named = graph, values, named
        self._makers = MadeObjects(values.definitions)

    def to(self, question: AskedObject) -> ObjectElsewhere | None:
        """What the code in sight says; None where it leaves a choice, or says nothing.

        Args:
            question: what a file asks.
        """
        path = Path(question.file)
        if not question.owner:
            call = ast.parse(f"{question.parameter}()", mode="eval").body
            return self._made(question, [(path, (call, None))])
        owner = next(self._values.definitions.named_in(path, question.owner), None)
        if owner is None:
            return None
        given = ((source, argument) for source, argument, _ in self._named.arguments(owner, question.parameter))
        by_class = self._given(question, owner) if not question.only else None
        return by_class or self._made(question, given)

    def _given(self, question: AskedObject, owner: Definition) -> ObjectElsewhere | None:
        """The only class of the project whose objects the calls in sight give a parameter."""
        held = list(self._named.given_to(owner, question.parameter))
        classes = {each.definition for each in held}
        only = classes.pop() if len(classes) == 1 else None
        if only is None or not isinstance(only.node, ast.ClassDef):
            return None
        is_made = all(each.made and each.registry is None for each in held)
        return ObjectElsewhere(question, str(only.path), only.node.name) if is_made else None

    def _made(self, question: AskedObject, given: Iterable[tuple[Path, Argument]]) -> ObjectElsewhere | None:
        """The only class of PyTorch of which expressions of some files make an object."""
        known: list[MadeObject] = []
        for path, argument in given:
            for made in self._makers.of(path, *argument):
                if made is None or known and made.name != known[0].name:
                    return None
                known.append(made)
        if not known or question.only not in ("", known[0].name):
            return None
        first = min(known, key=lambda each: (each.path, each.call.lineno, each.call.col_offset))
        return ObjectElsewhere(question, str(first.path), first.name, *self._place(first))

    def _place(self, made: MadeObject) -> tuple[int, int, int, int]:
        """The rows and columns, from 1, between which a module is made."""
        call, lines = made.call, self._graph.data(made.path).splitlines()
        ends = ((call.lineno, call.col_offset), (call.end_lineno or call.lineno, call.end_col_offset or 0))
        (row, column), (end_row, end_column) = (
            (row, len(lines[row - 1][:column].decode("utf-8", "replace")) + 1) for row, column in ends
        )
        return row, column, end_row, end_column
