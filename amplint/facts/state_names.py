"""The names under which states are kept on their way to a checkpoint: variables, tuples that are unpacked, collections."""

from __future__ import annotations

import libcst as cst

from amplint.facts.filled_collections import appended_to
from amplint.file import File
from amplint.syntax.access_paths import index_of, path_of
from amplint.syntax.bindings import targets, unpacked
from amplint.syntax.value_uses import How, Use


class StateNames:
    """Those of one file."""

    def __init__(self, file: File) -> None:
        self._tree, self._flow = file.tree, file.flow

    def read(self, value: cst.BaseExpression, seen: frozenset[str] = frozenset()) -> list[cst.BaseExpression]:
        """A value, or else the places that read the name which it is given, or the collection that it is put into.

        Args:
            value: the value.
            seen: what it was put into before.
        """
        path = self._kept_as(value)
        if not path or path in seen:
            return [value]
        reads = self._flow.reads(path, value)
        put = [each for each in reads if self._under_computed_key(each)]
        return [read for each in reads for read in (self.read(each, seen | {path}) if each in put else [each])]

    def _kept_as(self, value: cst.BaseExpression) -> str:
        """The only name that a value is given, or the path of the collection that it is put into; empty for neither."""
        use = self._flow.use(value)
        while isinstance(use.node, (cst.ListComp, cst.DictComp)):
            use = self._flow.use(use.node)
        if (collection := appended_to(use)) is not None:
            if not isinstance(collection, cst.Subscript):
                return path_of(collection)
            return "" if self.is_spelled(collection) else path_of(collection.value)
        if isinstance(use.node, cst.Element):
            return self._unpacked_as(use.node)
        if use.how is not How.ASSIGNED:
            return ""
        given = targets(use.node)
        names = [path_of(each) for each in given if isinstance(each, cst.Name)]
        put = [each for each in given if isinstance(each, cst.Subscript) and isinstance(each.value, cst.Name)]
        names += [path_of(each.value) for each in put if not self.is_spelled(each)]
        return names[0] if len(names) == 1 else ""

    def _unpacked_as(self, element: cst.Element) -> str:
        """The name that an element of a tuple is given: `model_state, optimizer_state = ...`; empty for none."""
        whole = self._tree.parent(element)
        use = self._flow.use(whole) if isinstance(whole, cst.Tuple) else None
        given = targets(use.node) if use is not None and use.how is How.ASSIGNED else ()
        for each in given:
            if isinstance(each, cst.Tuple) and isinstance(whole, cst.Tuple):
                pairs = zip((part.value for part in each.elements), unpacked(each, whole))
                return next((path_of(name) for name, value in pairs if value is element.value), "")
        return ""

    def _under_computed_key(self, value: cst.BaseExpression) -> bool:
        """Whether a value is put into a dict under a key that is not written out: `checkpoint[KEY] = state`."""
        use = self._flow.use(value)
        given = targets(use.node) if use.how is How.ASSIGNED else ()
        return any(isinstance(each, cst.Subscript) and not self.is_spelled(each) for each in given)

    def use(self, mention: cst.BaseExpression) -> Use:
        """What is done with what is mentioned, or with a copy that is made of it on the spot.

        Args:
            mention: the place that reads it.
        """
        use = self._flow.use(mention)
        while use.how is How.ARGUMENT and use.name in ("copy", "deepcopy"):
            use = self._flow.use(use.node)
        return use

    def is_spelled(self, target: cst.Subscript) -> bool:
        """Whether the key of an element is written out, or a part of it.

        Args:
            target: the element, as something that is assigned.
        """
        index = index_of(target)
        key = self._tree.text(index) if index is not None else ""
        return "'" in key or '"' in key
