"""The functions of a file, those of other files that it calls, and the places in them that graphs speak of."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

import libcst as cst

from amplint.lowering.getters import Getters
from amplint.lowering.kept_arguments import KeptArguments
from amplint.lowering.scaler_switches import ScalerSwitches
from amplint.model.events import GLOBAL
from amplint.model.references import site_text
from amplint.roles.autocast_contexts import Contexts
from amplint.roles.call_targets import Callees
from amplint.roles.loss_scales import LossScales
from amplint.roles.roles import Roles
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.call_arguments import PassedArguments
from amplint.syntax.classes import Classes
from amplint.syntax.names import Names
from amplint.syntax.nodes import is_reference
from amplint.syntax.project_imports import Imports
from amplint.syntax.tree import Tree
from amplint.syntax.value_flow import ValueFlow
from amplint.syntax.words import words
from amplint.uses.gradient_uses import Readings
from amplint.uses.reported_losses import Reports

MODULE = "<module>"
_TELLING_WORD = re.compile(r"backward|\bstep\b|[Ss]caler|\bgrad\b")
_ACT_ON_OPTIMIZERS = ("unscale_", "step")
_MAX_ELSEWHERE = 120
"""So many functions of other files are looked into; what lies beyond is unknown."""


class Program:
    """All functions of one file and those of other files that it calls, and the numbers (sites) of the places that their
    graphs speak of.

    Args:
        tree: the file.
        names: what its names mean.
        classes: its classes.
        contexts: the regions that it enters.
        imports: leads to other files.
        abroad: whether the functions of other files know what this file gives them.
    """

    def __init__(
        self,
        tree: Tree,
        names: Names,
        classes: Classes,
        contexts: Contexts,
        imports: Imports,
        abroad: bool = True,
    ) -> None:
        self.tree = tree
        self.names = names
        self.classes = classes
        self.contexts = contexts
        self.imports = imports
        self.flow = ValueFlow(tree, names, classes, imports, PassedArguments(tree, names, classes, imports, abroad))
        self.roles = Roles(tree, names, classes, contexts, self.flow)
        self.loss_scales = LossScales(tree, self.roles)
        self.callees = Callees(tree, names, classes, imports, self.roles, self.enter)
        self.kept_arguments = KeptArguments(tree, names, classes)
        self.getters = Getters(classes, self.callees.objects)
        self.switches = ScalerSwitches(tree, self.roles, classes, self.callees.objects)
        self.places: list[cst.CSTNode] = []
        self._sites: dict[int, int] = {}
        self.elsewhere: dict[str, cst.FunctionDef] = {}
        """The functions of other files that calls lead to, by key."""
        self.readings = Readings(tree, self.flow, self.loss_scales.may_hold)
        self.reports = Reports(tree, self.flow)
        self._fields_asked: dict[cst.CSTNode, frozenset[str]] = {}
        self.amp_tests: set[cst.If] = set()
        """The `if` statements that ask whether AMP is on."""
        self.amp_needed: set[cst.If] = set()
        """The `if` statements that ask whether AMP is on, and perhaps whether there is a device for it."""
        self.varying_tests: set[cst.If] = set()
        """The `if` statements that may come out differently from one iteration to the next."""

    @cached_property
    def unscales(self) -> bool:
        """Whether anything in the file calls `unscale_`, or a function of another file that does."""
        return bool(self.flow.methods("unscale_")) or any("unscale_" in words(each) for each in self._led_to())

    @cached_property
    def counted(self) -> frozenset[str]:
        """The paths of what the file counts up by one: `steps += 1`."""
        changes = (each for each in self.tree.find(cst.AugAssign) if type(each.operator) is cst.AddAssign)
        return frozenset(path_of(each.target) for each in changes if _is_one(each.value))

    @cached_property
    def raised(self) -> frozenset[str]:
        """The names of the errors that the file raises, without their modules."""
        errors = (each.exc for each in self.tree.find(cst.Raise))
        made = (each.func if isinstance(each, cst.Call) else each for each in errors if each is not None)
        return frozenset(path_of(each).rpartition(".")[2] for each in made)

    def fields_asked(self, node: cst.CSTNode) -> frozenset[str]:
        """The attributes that branches of a file ask for, those that it gives a scaler to act on, and those that it propagates.

        Args:
            node: a node of the file.
        """
        root = self.tree.root(node)
        if root not in self._fields_asked:
            tests: list[cst.CSTNode] = [each.test for each in self.tree.find(cst.If, around=root)]
            calls = (each for each in self.tree.find(cst.Call, around=root) if called_name(each) in _ACT_ON_OPTIMIZERS)
            given = (arg.value for call in calls for arg in call.args)
            wholes = (*tests, *given, *self._propagated(root))
            asked = (part for whole in wholes for part in self.tree.inside(whole, cst.Attribute))
            self._fields_asked[root] = frozenset(part.attr.value for part in asked)
        return self._fields_asked[root]

    def _propagated(self, root: cst.Module) -> Iterator[cst.CSTNode]:
        """The losses of the backward passes in a file, and what they are assigned from."""
        for call in self.tree.find(cst.Call, around=root):
            if called_name(call) == "backward" and isinstance(call.func, cst.Attribute):
                yield call.func.value
                if isinstance(call.func.value, cst.Name):
                    yield from self.flow.values(call.func.value)

    # -- places ----------------------------------------------------------------------------------------------------

    def site(self, node: cst.CSTNode) -> int:
        """The number of a place."""
        if id(node) not in self._sites:
            self._sites[id(node)] = len(self.places)
            self.places.append(node)
        return self._sites[id(node)]

    # -- functions -------------------------------------------------------------------------------------------------

    @cached_property
    def definitions(self) -> dict[str, cst.FunctionDef | cst.Module]:
        """All functions of the file by key, and the module itself."""
        found: dict[str, cst.FunctionDef | cst.Module] = {MODULE: self.tree.module}
        for node in self.tree.find(cst.FunctionDef):
            found[self.key(node)] = node
        return found

    def key(self, node: cst.FunctionDef) -> str:
        """The name of a function in this file, outer functions and classes first; its site tells namesakes apart."""
        outer = [
            above.name.value
            for above in self.tree.ancestors(node)
            if isinstance(above, (cst.FunctionDef, cst.ClassDef))
        ]
        return f"{'.'.join(reversed([node.name.value, *outer]))}@{site_text(self.site(node))}"

    @cached_property
    def templates(self) -> list[cst.FunctionDef]:
        """The methods of other files that classes of this one inherit, and that call what these classes override, through
        others, too."""
        found: dict[cst.FunctionDef, None] = {}
        for info in self.classes.own:
            abroad = [base for base in info.lineage[1:] if self.tree.root(base.node) is not self.tree.module]
            names = {name for base in abroad for name in base.methods if not name.startswith("__")}
            own = names & info.methods.keys()
            waiting = [node for name in sorted(names - own) if (node := info.method(name)) is not None]
            while own:
                calling = [node for node in waiting if own.intersection(words(node))]
                found.update(dict.fromkeys(calling))
                waiting = [node for node in waiting if node not in calling]
                own = {node.name.value for node in calling}
        return list(found)

    def enter(self, node: cst.FunctionDef) -> str | None:
        """The key of a function that a call leads to; None for one too many in other files."""
        key = self.key(node)
        if self.tree.root(node) is not self.tree.module and key not in self.elsewhere:
            if len(self.elsewhere) >= _MAX_ELSEWHERE:
                return None
            self.elsewhere[key] = node
        return key

    def definition(self, key: str) -> cst.FunctionDef | cst.Module:
        """The function of a key, in this file or in another one."""
        return self.elsewhere[key] if key in self.elsewhere else self.definitions[key]

    def for_itself(self) -> Program:
        """The same files, where those that this one calls do not know what it gives them."""
        contexts = self.contexts.for_itself()
        return Program(self.tree, self.names, self.classes, contexts, self.imports, abroad=False)

    def shared_name(self, name: str, inside: cst.CSTNode) -> str:
        """A module-level name as this file would call it: what another file defines goes by its full name, unless imported.

        Args:
            name: the name.
            inside: the function that speaks of it.
        """
        module = self.imports.module(inside)
        if not module:
            return name
        return self._imported_as.get(f"{module}.{name}", f"{module}:{name}".replace(".", "/"))

    def shared_object(self, node: cst.BaseExpression) -> str:
        """The reference of a module-level object of another file, the same from wherever it is spoken of; empty for others.

        Args:
            node: the expression that names it: `scaler` after `from state import scaler`, `state.scaler`, `scaler` in `state`.
        """
        path, part = path_of(node), node
        while is_reference(part):
            meanings = self.names.resolve(part)
            found = self.imports.bindings(next(iter(meanings))) if len(meanings) == 1 else []
            if len(found) == 1 and isinstance(found[0].node, cst.Name):
                return self._global(found[0].node) + path[len(path_of(part)) :]
            if isinstance(part, cst.Name):
                own = self.imports.module(part) and self.names.bindings_in(self.tree.root(part)).get(part.value)
                bound = [each.node for each in own or () if isinstance(each.node, cst.Name)]
                return self._global(bound[0]) + path[len(part.value) :] if bound else ""
            part = part.value
        return ""

    def _global(self, name: cst.Name) -> str:
        module = self.imports.module(name)
        return GLOBAL + (f"{module}:".replace(".", "/") if module else "") + name.value

    @cached_property
    def _imported_as(self) -> dict[str, str]:
        return {
            absolute: name
            for name, bindings in self.names.bindings_in(self.tree.module).items()
            for binding in bindings
            if isinstance(binding.node, cst.ImportAlias) and (absolute := self.imports.absolute(binding.qualified))
        }

    def is_closure(self, name: str, node: cst.CSTNode) -> bool:
        """Whether a function around `node` binds the name, so that it is no module-level variable there.

        Args:
            name: the name.
            node: where it is used.
        """
        return any(
            type(above) is cst.FunctionDef and name in self.names.bindings_in(above)
            for above in (node, *self.tree.ancestors(node))
        )

    def telling(self) -> list[str]:
        """The keys of the functions in whose text gradients are computed or scaled, or that lead to such or to other files."""
        telling = {key for key, node in self.definitions.items() if self._tells(node)}
        telling |= {
            self.key(method)
            for info in self.classes.own
            for base in info.lineage[1:]
            for name in base.methods.keys() & info.methods.keys()
            for method in (info.methods[name], base.methods[name])
        }
        called: dict[str, set[str]] = {}
        for key, node in self.definitions.items():
            calls = self.tree.inside(node, cst.Call) if key not in telling else []
            called[key] = {found.key for call in calls for found in self.callees.all_of(call)}
        telling |= self.elsewhere.keys()
        while more := {key for key in called if not telling.isdisjoint(called[key])} - telling:
            telling |= more
        return [key for key in self.definitions if key in telling]

    def _tells(self, node: cst.FunctionDef | cst.Module) -> bool:
        """Whether a word of the protocol stands in a function, or it is the module."""
        return isinstance(node, cst.Module) or any(map(_TELLING_WORD.search, self.tree.words(node)))

    def _led_to(self) -> Iterator[cst.FunctionDef]:
        """The functions of other files that calls run."""
        found = (each for call in self.tree.find(cst.Call) for each in self.callees.all_of(call))
        return (each.node for each in found if each.key in self.elsewhere)


def _is_one(node: cst.BaseExpression) -> bool:
    return type(node) is cst.Integer and node.value == "1"
