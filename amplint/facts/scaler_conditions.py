"""The conditions by which scalers are made and enabled, and whether they are about a precision."""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.facts.bf16_conditions import Bf16Conditions
from amplint.file import File
from amplint.model import vocabulary
from amplint.model.event_graph import Scoped
from amplint.model.torch import names as torch_names
from amplint.model.torch import precision
from amplint.roles.scaler_wrappers import sides_of
from amplint.syntax.nodes import within
from amplint.syntax.words import words

_MAX_DEFINITIONS = 4


class ScalerConditions:
    """What decides on the scalers of one file."""

    def __init__(self, file: File) -> None:
        self._tree, self._names, self._roles, self._contexts = file.tree, file.names, file.roles, file.contexts
        self._places = file.analysis.program.places

    def follow_dtype(self, made: cst.Call) -> bool:
        """Whether a scaler is made, or enabled, by a condition that speaks of a precision."""
        if any(arg.star for arg in made.args):
            return True
        return any(self._speaks(test) for test, _ in self._conditions(made))

    def switched_with(self, made: cst.Call, regions: list[Scoped]) -> bool:
        """Whether the conditions of a scaler that speak of a precision are those by which all of some regions are enabled.

        Args:
            made: the call that makes the scaler.
            regions: what it scales is computed in these.
        """
        speaking = [(test, truth) for test, truth in self._conditions(made) if self._speaks(test)]
        if any(arg.star for arg in made.args) or not all(truth for _, truth in speaking):
            return False
        switches = [switch for each in regions for switch in self._switches_of(each) or [set[str]()]]
        return all(self._spellings(test) & switch for test, _ in speaking for switch in switches)

    def _switches_of(self, region: Scoped) -> list[set[str]]:
        """What a region is given as `enabled`, or is chosen by in place of another one, in all spellings."""
        place = self._places[region.site]
        entered = place.item if isinstance(place, cst.WithItem) else place
        if not isinstance(entered, cst.BaseExpression):
            return []
        named = isinstance(entered, (cst.Name, cst.Attribute))
        sides = [side for each in (self._contexts.values(entered) if named else [entered]) for side in sides_of(each)]
        made = [each for each in sides if isinstance(each, cst.Call)]
        lowering = [each for each in made if (found := self._contexts.of(each)) is not None and found.lowers]
        return [self._spellings(test) for each in lowering for test in (*_switches(each), *self._chosen_by(each))]

    def _chosen_by(self, made: cst.Call) -> Iterator[cst.BaseExpression]:
        """The conditions of the conditional expressions that have a call where they are true."""
        below: cst.CSTNode = made
        for above in self._tree.ancestors(made):
            if not isinstance(above, cst.BaseExpression):
                return
            if isinstance(above, cst.IfExp) and above.body is below:
                yield above.test
            below = above

    def _spellings(self, condition: cst.BaseExpression) -> set[str]:
        """The text of a condition, and the names that it stands for: `self.fp16`, and the parameter `fp16` that it was given."""
        named = (each for each in self._roles.values(condition) if isinstance(each, cst.Name))
        return set(map(self._tree.text, (condition, *named)))

    def made_for_bf16(self, made: cst.Call) -> cst.BaseExpression | None:
        """The condition by which a scaler is made, or enabled, in bfloat16 alone; the file's own regions may be in it."""
        regions = any(self._names.references(torch_names.AUTOCAST))
        if regions and not any(self._names.references(precision.named(precision.BFLOAT16))):
            return None
        reader = Bf16Conditions(self._names)
        if any(self._speaks(test) and not reader.asks(test) for test in _switches(made)):
            return None
        return next((test for test, truth in self._conditions(made) if reader.asks(test, truth)), None)

    def _speaks(self, test: cst.BaseExpression) -> bool:
        """Whether the words of a condition, or of the values of the names in it, are about a precision."""
        return vocabulary.PRECISION_VALUE.search(" ".join(self._words(test, 0))) is not None

    def _conditions(self, made: cst.Call) -> Iterator[tuple[cst.BaseExpression, bool]]:
        """What decides whether a scaler is made, and enabled, each with the truth that it takes."""
        yield from ((test, True) for test in _switches(made))
        home = self._tree.enclosing(made, cst.FunctionDef)
        below: cst.CSTNode = made
        for above in self._tree.ancestors(made):
            if above is home:
                break
            if isinstance(above, (cst.If, cst.IfExp)):
                yield above.test, below is above.body
            below = above

    def _words(self, node: cst.BaseExpression, depth: int) -> Iterator[str]:
        """The words of an expression, and of the values of the names in it."""
        yield from words(node)
        for part in within(node):
            if isinstance(part, cst.Name) and depth < _MAX_DEFINITIONS:
                for binding in self._names.bindings(part.value, part):
                    if binding.value is not None:
                        yield from self._words(binding.value, depth + 1)
            elif isinstance(part, cst.Attribute) and depth < _MAX_DEFINITIONS:
                for value in self._roles.values(part):
                    yield from self._words(value, depth + 1)


def _switches(made: cst.Call) -> list[cst.BaseExpression]:
    """What a scaler is given as `enabled`."""
    return [arg.value for arg in made.args if arg.keyword is not None and arg.keyword.value == "enabled"]
