"""What makes autocast regions: classes, partials of them, and names for both; and the settings that a region gets from them."""

from __future__ import annotations

import libcst as cst

from amplint.model.events import Region
from amplint.model.records import frozen
from amplint.model.torch import names as torch_names
from amplint.roles.region_settings import RegionSettings, region_arguments

PARTIAL = frozenset({"functools.partial"})


@frozen
class Maker:
    """What makes autocast regions when it is called: the class under one of `names`, or a partial of it with `preset`."""

    names: frozenset[str]
    preset: tuple[cst.Arg, ...] = ()


class RegionMakers(RegionSettings):
    """Reads what makes regions, and with which settings."""

    def maker(self, node: cst.BaseExpression, seen: frozenset[cst.CSTNode] = frozenset()) -> Maker | None:
        """What an expression makes regions by, once it is called; None for anything else, regions themselves included.

        Args:
            node: any expression.
            seen: the expressions that have led here: `autocast = partial(autocast, ...)` leads to itself.
        """
        if node in seen:
            return None
        if type(node) is cst.Call:
            first = node.args[0].value if node.args and self._names.all_in(node.func, PARTIAL) else None
            made = self.maker(first, seen | {node}) if first is not None else None
            return Maker(made.names, (*made.preset, *node.args[1:])) if made is not None else None
        if self._names.all_in(node, torch_names.AUTOCAST):
            return Maker(self._names.resolve(node))
        makers = [self.maker(value, seen | {node}) for value in self._values.behind(node)]
        return makers[0] if makers and all(made == makers[0] for made in makers) else None

    def sources(self, node: cst.BaseExpression, seen: frozenset[cst.CSTNode] = frozenset()) -> list[cst.Call]:
        """The calls of the class, or of `functools.partial` with it, that give a context its settings.

        Args:
            node: what is entered.
            seen: as in `maker`.
        """
        if node in seen:
            return []
        if isinstance(node, cst.Call):
            if self._names.all_in(node.func, torch_names.AUTOCAST) or self.maker(node) is not None:
                return [node]
            return [source for each in self._values.behind(node.func) for source in self.sources(each, seen | {node})]
        return [source for value in self._values.behind(node) for source in self.sources(value, seen | {node})]

    def settings(self, source: cst.Call) -> Region:
        """The region that one of the `sources` asks for; of a partial, what it presets."""
        made = self.maker(source)
        if made is not None:
            return self.region(made.names, made.preset)
        return self.region(self._names.resolve(source.func), source.args)

    def switch(self, source: cst.Call) -> cst.BaseExpression | None:
        """What one of the `sources` is given as `enabled`, if anything."""
        return region_arguments(self._names.resolve(source.func), source.args).get("enabled")

    def behind(self, node: cst.BaseExpression) -> list[cst.BaseExpression]:
        """What a context, or what makes one, may be, one step back; empty when something unknown is among it."""
        return self._values.behind(node)
