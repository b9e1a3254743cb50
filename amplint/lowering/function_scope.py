"""One function as a scope: what its names refer to, and what is known of the objects that it uses."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import cached_property

import libcst as cst

from amplint.lowering.getters import GivenBack
from amplint.lowering.program import Program
from amplint.model.events import GLOBAL, ObjectFacts
from amplint.model.records import changed
from amplint.model.references import ELEMENT
from amplint.syntax.access_paths import index_of, path_of
from amplint.syntax.nodes import children, is_reference, is_sequence
from amplint.syntax.words import words

OBJECTS = frozenset({"optimizer", "scaler", "scheduler"})
"""The roles whose references are followed through aliases."""
_CONVERSIONS = frozenset({"float", "int", "str", "list", "tuple"})
MAX_UNROLLED = 4
"""The elements of a literal collection of so many objects are told apart."""


class FunctionScope:
    """The scope of one function, or of the module's own statements, while its graph is made.

    Args:
        program: the file.
        node: the function.
    """

    def __init__(self, program: Program, node: cst.FunctionDef | cst.Module) -> None:
        self.program = program
        self.names = program.names
        self.roles = program.roles
        self.node = node
        self.aliases: dict[str, str] = {}
        """The references that names of loops and comprehensions stand for."""
        self.loop_owners: dict[str, tuple[str, ...]] = {}
        """Where the parameters come from that such names stand for."""
        self.picking: frozenset[str] = frozenset()
        """The names of numbers and keys by which a loop picks one object after the other."""
        self.objects: dict[str, ObjectFacts] = {}
        """What is known of the objects that references name."""
        self.bound = program.names.bindings_in(node)
        self._root = program.tree.root(node)
        self._module = program.names.bindings_in(self._root)
        self.opaque = program.tree.home(node).source.path.endswith(".pyi")
        self.is_context = isinstance(node, cst.FunctionDef) and works_around(program, node)
        self.scale_names = self._derived_from("get_scale") if program.loss_scales.in_play(node) else frozenset[str]()

    def qualify(self, path: str) -> str:
        """An access path as a reference."""
        root = path.partition(".")[0].partition("[")[0]
        if root in self.aliases:
            return self.aliases[root] + path[len(root) :]
        if root not in self.bound or self.node is self._root:
            if root in self._module and not self.program.is_closure(root, self.node):
                return GLOBAL + self.program.shared_name(root, self.node) + path[len(root) :]
        return path

    def ref(self, node: cst.BaseExpression) -> str:
        """The reference that an expression names; empty for none."""
        node = self._as_given(self._element(node))
        path, tail, seen = path_of(node), "", set[str]()
        while path:
            root = path.partition(".")[0].partition("[")[0]
            value = self._object_behind(root)
            if value is None or root in seen:
                return self._noted(node, path) + tail
            seen.add(root)
            node, path, tail = value, path_of(value), path[len(root) :] + tail
        return self._noted(node, "")

    def _element(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """The object of interest that an element by its number is, where a local name holds a short display; else the node."""
        index = index_of(node) if type(node) is cst.Subscript else None
        if type(index) is not cst.Integer or type(node) is not cst.Subscript or type(node.value) is not cst.Name:
            return node
        shown = self.definition(node.value)
        elements = shown.elements if is_sequence(shown) else ()
        if not index.evaluated_value < len(elements) <= MAX_UNROLLED or any(
            type(each) is not cst.Element for each in elements
        ):
            return node
        named = elements[index.evaluated_value].value
        return named if path_of(named) and self.is_object(named) else node

    def _as_given(self, node: cst.BaseExpression) -> cst.BaseExpression:
        """The local name that an attribute of a local object stands for, if its constructor was given it; else the node."""
        made = self.definition(node.value) if type(node) is cst.Attribute and type(node.value) is cst.Name else None
        if type(node) is not cst.Attribute or type(made) is not cst.Call or any(self.roles.values(node)):
            return node
        given = self.program.kept_arguments.behind(node.attr.value, made)
        return given if type(given) is cst.Name and len(self.bound.get(given.value, ())) == 1 else node

    def is_object(self, node: cst.BaseExpression) -> bool:
        """Whether an expression names an optimizer, a scaler or a schedule."""
        return self.roles.of(node).role in OBJECTS

    def _object_behind(self, root: str) -> cst.BaseExpression | None:
        """What a local name stands for, where that names an object of interest."""
        value = self._definition_of(root)
        if root in self.aliases or value is None or not self.is_object(value):
            return None
        return value if path_of(value) and path_of(value).partition(".")[0] != root else None

    def _noted(self, node: cst.BaseExpression, path: str) -> str:
        """The reference of an access path; what is known of its object is kept."""
        facts, given = self._behind(node)
        path = given.path if given is not None else path
        if not path:
            return ""
        reference = self.qualify(path)
        if facts.role in OBJECTS and picked_by(node) in self.picking:
            reference = reference.rpartition("[")[0] + ELEMENT
        if facts.role and reference.startswith(GLOBAL):
            reference = self.program.shared_object(node) or reference
        if facts.role and reference not in self.objects:
            owners = tuple(self.qualify(owner) for owner in facts.owners if owner)
            self.objects[reference] = changed(facts, owners=owners, owned=facts.role == "scaler" and self.opaque)
        return reference

    def facts(self, node: cst.BaseExpression) -> ObjectFacts:
        """What is known of the object that an expression names, also by a getter (`trainer.get_optimizer()`).

        Args:
            node: the expression.
        """
        return self._behind(node)[0]

    def _behind(self, node: cst.BaseExpression) -> tuple[ObjectFacts, GivenBack | None]:
        """What is known of an object, and the attribute that holds it, where a getter is named."""
        node = self._as_given(node)
        facts = self.roles.of(node)
        given = self.program.getters.behind(node) if facts.role in OBJECTS or type(node) is cst.Call else None
        if given is None:
            return facts, None
        facts, home = (
            self.roles.of(given.attribute),
            given.path.removesuffix(path_of(given.attribute).removeprefix("self")),
        )
        return changed(facts, owners=tuple(home + owner.removeprefix("self") for owner in facts.owners)), given

    def definition(self, name: cst.Name) -> cst.BaseExpression | None:
        """The only value that a local name is ever assigned."""
        return self._definition_of(name.value)

    def _definition_of(self, name: str) -> cst.BaseExpression | None:
        bindings = self.bound.get(name, ())
        return bindings[0].value if len(bindings) == 1 and not isinstance(bindings[0].node, cst.Param) else None

    def _derived_from(self, word: str) -> frozenset[str]:
        """The local names whose values are computed from something called `word`."""
        used = {
            name: {found for binding in bindings if binding.value is not None for found in words(binding.value)}
            for name, bindings in self.bound.items()
        }
        derived = {word}
        while more := {name for name, found in used.items() if found & derived} - derived:
            derived |= more
        return frozenset(derived - {word})

    def sources(self, node: cst.BaseExpression) -> tuple[str, ...]:
        """The references of all that a value may be computed from; none where a function of the file computes it."""
        found: dict[str, None] = {}
        waiting: list[cst.CSTNode] = [node]
        while waiting:
            each = waiting.pop()
            path = path_of(each) if is_reference(each) else ""
            if not path:
                waiting += [each.value] if isinstance(each, (cst.Arg, cst.Attribute)) else children(each)
            elif self._is_function(path):
                return ()
            elif self.qualify(path) not in found:
                found[self.qualify(path)] = None
                waiting += self._made_of(path.partition(".")[0].partition("[")[0])
        return tuple(found)

    def _is_function(self, path: str) -> bool:
        root, _, attribute = path.partition(".")
        owner = self.program.classes.owner(self.node) if root == "self" else None
        bindings = self.bound.get(root) or self._module.get(root, [])
        return (owner is not None and owner.method(attribute) is not None) or any(
            isinstance(each.node, cst.FunctionDef) for each in bindings
        )

    def _made_of(self, name: str) -> Iterator[cst.CSTNode]:
        """What the function assigns to a local name, or runs it over."""
        yield from (binding.value for binding in self.bound.get(name, ()) if binding.value is not None)
        yield from self._run_over(name)

    def _run_over(self, name: str) -> Iterator[cst.BaseExpression]:
        """What the function runs a local name over."""
        for binding in self.bound.get(name, ()):
            loop = self.program.tree.enclosing(binding.node, cst.For, cst.CompFor) if binding.node is not None else None
            if binding.value is None and isinstance(loop, (cst.For, cst.CompFor)):
                yield loop.iter

    def looped_over(self, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """What the loops run over that have an expression, a local name, for their target."""
        return self._run_over(node.value) if type(node) is cst.Name else iter(())

    def changing(self) -> frozenset[str]:
        """The local names that are assigned inside a loop, or more than once; to convert a value (`limit = float(limit)`) does
        not count, nor does a comprehension that has a variable of a name which something else has, too."""
        loops = (cst.For, cst.While, cst.CompFor)
        changing = set()
        for name, bindings in self.bound.items():
            nodes = [each.node for each in bindings if each.node is not None and not _converts(each.value, name)]
            around = [self.program.tree.enclosing(node, *loops, cst.FunctionDef) for node in nodes]
            around = [above for above in around if not isinstance(above, cst.CompFor)] or around
            if len(around) > 1 or any(isinstance(above, loops) for above in around):
                changing.add(name)
        return frozenset(changing)

    def handed(self, told: Callable[[str], bool]) -> frozenset[str]:
        """The parameters whose names tell something.

        Args:
            told: whether a name tells it.
        """
        names = (name for name, bound in self.bound.items() if any(isinstance(each.node, cst.Param) for each in bound))
        return frozenset(filter(told, names))

    def assigned_in(self, loop: cst.CSTNode) -> frozenset[str]:
        """The local names that a loop assigns."""
        return frozenset(self._assignments[node] for node in self.program.tree.below(loop, self._assigning))

    @cached_property
    def _assignments(self) -> dict[cst.CSTNode, str]:
        """The nodes that assign local names, in source order, each with the name."""
        named = {each.node: name for name, bindings in self.bound.items() for each in bindings if each.node is not None}
        return {node: named[node] for node in sorted(named, key=self.program.tree.order)}

    @cached_property
    def _assigning(self) -> list[cst.CSTNode]:
        return list(self._assignments)

    def names_the_same(self, node: cst.BaseExpression, made: cst.Call) -> bool:
        """Whether an argument of a call, wherever that stands, names the same object in this function.

        Args:
            node: the argument.
            made: the call that it is given to.
        """
        root, dot, _ = path_of(node).partition(".")
        home = self.program.tree.enclosing(made, cst.FunctionDef) or self.program.tree.root(made)
        if root == "self" and dot:
            owner = self.program.classes.owner(made)
            return owner is not None and owner is self.program.classes.owner(self.node)
        if home is self.node:
            return len(self.bound.get(root, ())) == 1
        return home is self._root and root not in self.bound and len(self._module.get(root, ())) == 1

    def is_value(self, node: cst.BaseExpression) -> bool:
        """Whether an expression is computed in this function, as a loss is, rather than an object with methods."""
        root = path_of(node).partition(".")[0]
        bindings = self.bound.get(root, ())
        return "loss" in path_of(node).lower() or any(isinstance(binding.value, cst.Call) for binding in bindings)

    def grad_owners(self, node: cst.BaseExpression) -> tuple[str, ...]:
        """Where the parameter whose gradient an expression names comes from."""
        return self.loop_owners.get(path_of(node).partition(".")[0], ())


def picked_by(node: cst.BaseExpression) -> str:
    """The name of the number or key by which an expression picks an element; empty for any other expression."""
    index = index_of(node) if type(node) is cst.Subscript else None
    return index.value if type(index) is cst.Name else ""


def works_around(program: Program, function: cst.FunctionDef) -> bool:
    """Whether a `with` statement runs a generator that works with AMP's objects before the block, or after it.

    Args:
        program: what the function belongs to.
        function: the generator, or any other function.
    """
    if not program.contexts.is_generated(function):
        return False
    methods = (each.func for each in program.tree.inside(function, cst.Call))
    receivers = (each.value for each in methods if isinstance(each, cst.Attribute))
    return any(program.roles.of(each).role in OBJECTS for each in receivers)


def _converts(value: cst.BaseExpression | None, name: str) -> bool:
    """Whether a value is that of a name, as another type: `float(limit)`."""
    match value:
        case cst.Call(func=cst.Name(value=kind), args=[cst.Arg(value=cst.Name(value=given), star="")]):
            return given == name and kind in _CONVERSIONS
    return False
