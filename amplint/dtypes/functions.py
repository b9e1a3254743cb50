"""The dtype flow through functions and classes of the file: a call evaluates the body anew, with what it is given."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable

import libcst as cst

from amplint.dtypes.argument_passing import ArgumentPassing
from amplint.dtypes.frames import StackFrame
from amplint.dtypes.lattice import read
from amplint.dtypes.layers_elsewhere import LayersElsewhere
from amplint.dtypes.literals import given_back
from amplint.dtypes.tensor_calls import no_result
from amplint.dtypes.texts import with_texts
from amplint.dtypes.values import (
    NO_ARGUMENTS,
    UNKNOWN,
    Arguments,
    Class,
    Closure,
    GivenFlag,
    GradientFlow,
    Instance,
    Number,
    Operation,
    Value,
    tensors,
    told,
    with_tensors,
)
from amplint.model import vocabulary
from amplint.model.torch import layers
from amplint.roles.autocast_contexts import Contexts
from amplint.syntax.class_info import is_only_announced
from amplint.syntax.classes import Classes
from amplint.syntax.names import Names, dotted
from amplint.syntax.tree import Tree

_CONSTANTS = (cst.Integer, cst.Float, cst.UnaryOperation, cst.Attribute)
_MAX_DEPTH = 8
_Key = tuple[object, ...]


class Functions(ArgumentPassing):
    """Evaluates calls of what the file defines.

    Args:
        tree: the file.
        names: what its names mean.
        contexts: the autocast regions that it enters.
        classes: its classes.
        losses: what the project calls its losses, beside names that say so.
        budget: how many expressions may be evaluated.
        result_elsewhere: gives what a call of a function of another file gives back; None where that is not known.
        layers_elsewhere: tells the modules of PyTorch that other files make; None where that does not matter.
    """

    def __init__(
        self,
        tree: Tree,
        names: Names,
        contexts: Contexts,
        classes: Classes,
        losses: frozenset[str],
        budget: int,
        result_elsewhere: Callable[[Operation], Value | None] = lambda call: None,
        layers_elsewhere: LayersElsewhere | None = None,
    ) -> None:
        super().__init__(tree, names, contexts, budget, layers_elsewhere)
        self.classes = classes
        self.result_elsewhere = result_elsewhere
        self._losses = losses
        self.kept = {}
        self.leaving: dict[Operation, bool] = {}
        """The calls of what is not defined here, where autocast or an argument tells of half precision, and whether they
        stand in the code of a loss."""
        self.reached: dict[Operation, bool] = {}
        """The operations through which a loss is differentiated, and whether what follows cancels their derivative."""
        self.top = StackFrame(tree.module)
        """The module."""
        self._running: list[cst.CSTNode] = []
        self._results: dict[_Key, Value] = {}
        self._made: dict[_Key, dict[str, Value]] = {}
        self._left_out = 0
        """How often a body was not evaluated, for it is being evaluated, or too deep."""
        self._instances: dict[cst.ClassDef, Instance] = {}
        self._abroad: dict[cst.Module, StackFrame] = {}

    @abstractmethod
    def run(self, body: cst.BaseSuite, frame: StackFrame) -> None:
        """Follow the statements of a body.

        Args:
            body: the statements.
            frame: where evaluation stands; its variables change.
        """

    def definition(self, node: cst.Name) -> Value | None:
        bindings = self.names.bindings(node.value, node)
        if len(bindings) != 1:
            return None
        found = bindings[0].node
        if type(found) is cst.FunctionDef:
            return Closure(found)
        return Class(found) if type(found) is cst.ClassDef else None

    def class_constant(self, base: Class, name: str) -> cst.BaseExpression | None:
        values = self.classes.of(base.node).values(name)
        given = values[0] if len(values) == 1 and isinstance(values[0], _CONSTANTS) else None
        home = self.tree.enclosing(given, cst.FunctionDef, cst.ClassDef) if given is not None else None
        return given if isinstance(home, cst.ClassDef) else None

    def attribute_of(self, instance: Instance, name: str, frame: StackFrame) -> Value:
        if name in instance.attributes:
            return self._placed_here(read(instance.attributes[name]))
        info = self.classes.of(instance.cls)
        method = info.method(name)
        if name in layers.WRAPPED and method is None and info.closed and not info.values(name):
            return instance  # a wrapper around it is taken off
        if method is None or is_only_announced(method):  # a subclass has it, in whichever file
            return UNKNOWN
        bound = Closure(method, None, instance)
        decorators = {dotted(decorator.decorator) for decorator in method.decorators}
        return self.invoke(bound, NO_ARGUMENTS, frame, "") if "property" in decorators else bound

    def construct(self, node: cst.ClassDef, arguments: Arguments, frame: StackFrame) -> Instance:
        """An object of a class, its attributes as `__init__` leaves them.

        Args:
            node: the class.
            arguments: what its `__init__` is given.
            frame: where evaluation stands.
        """
        arguments = with_texts(arguments, self.names)
        given = (*map(told, arguments.all), *arguments.keywords, *arguments.said, arguments.written)
        key: _Key = (node, *given, frame.regions, frame.loss)
        if key in self._made:  # what happens on the way was filed the first time
            return Instance(node, dict(self._made[key]))
        left_out = self._left_out
        instance = self._constructed(node, arguments, frame)
        if left_out == self._left_out:
            self._made[key] = dict(instance.attributes)
        return instance

    def _constructed(self, node: cst.ClassDef, arguments: Arguments, frame: StackFrame) -> Instance:
        instance = Instance(node)
        info = self.classes.of(node)
        outer = StackFrame(self.tree.module, depth=frame.depth)
        for above in reversed(info.lineage):
            outer.parent = self._outermost(above.node)
            for statement in above.node.body.body:
                if isinstance(statement, cst.SimpleStatementLine):
                    self.run(cst.IndentedBlock([statement]), outer)
        instance.attributes.update(outer.variables)
        method = info.method("__init__")
        if method is not None:
            self.invoke(Closure(method, None, instance), arguments, frame, "")
        else:
            self._fill_fields(instance, arguments)
        flags = {name: each for name, each in instance.attributes.items() if isinstance(each, GivenFlag)}
        turned = {name: Number() for name in flags if len(info.values(name)) != 1}  # something else turns them, too
        instance.attributes.update(turned)
        return instance

    def _fill_fields(self, instance: Instance, arguments: Arguments) -> None:
        """Give an object without an `__init__` the fields that its class annotates: that of a dataclass, say."""
        lines = [line for info in reversed(self.classes.of(instance.cls).lineage) for line in info.node.body.body]
        small = [each for line in lines if isinstance(line, cst.SimpleStatementLine) for each in line.body]
        fields = [each.target for each in small if isinstance(each, cst.AnnAssign)]
        names = dict.fromkeys(each.value for each in fields if isinstance(each, cst.Name))
        instance.attributes.update(zip(names, arguments.values))
        instance.attributes.update((name, arguments.keywords[name]) for name in names if name in arguments.keywords)

    def invoke(self, function: Closure, arguments: Arguments, frame: StackFrame, called: str) -> Value:
        """Evaluate the body of a function with these arguments.

        Args:
            function: the function, with the variables around it.
            arguments: what it is given.
            frame: where the call stands.
            called: the name that it is called by.
        """
        node = function.node
        if node in self._running or frame.depth >= _MAX_DEPTH:
            self._left_out += 1
            return no_result(*arguments.values)
        name = node.name.value if isinstance(node, cst.FunctionDef) else ""
        parent = function.closure if isinstance(function.closure, StackFrame) else self._outermost(node)
        inner = StackFrame(
            node, parent=parent, regions=frame.regions, depth=frame.depth + 1, this=function.bound,
            loss=frame.loss or self.is_loss(called) or self.is_loss(name),
        )  # fmt: skip
        if isinstance(node, cst.FunctionDef):
            inner.regions += tuple(self.contexts.decorating(node))
            arguments = NO_ARGUMENTS if self.contexts.is_wrapped(node) else arguments
        self.bind(node, function, arguments, inner)
        given = inner.variables
        held = (*given, *map(told, given.values()), inner.constants)
        key: _Key = (node, function.bound, parent, *held, inner.regions, inner.loss)
        if key in self._results:  # what it does to its operands was filed the first time
            return self._results[key]
        self._running.append(node)
        try:
            result = self._result(node, inner, entered_loss=inner.loss and not frame.loss)
        finally:
            self._running.pop()
        self._results[key] = UNKNOWN if self._generates(node) else self._placed_here(result)
        return self._results[key]

    def is_loss(self, name: str) -> bool:
        """Whether what has this name computes a loss."""
        return name in self._losses or vocabulary.LOSS.search(name) is not None

    def _result(self, node: cst.FunctionDef | cst.Lambda, frame: StackFrame, *, entered_loss: bool) -> Value:
        if isinstance(node, cst.Lambda):
            value = self.evaluate(node.body, frame)
        else:
            self.run(node.body, frame)
            value = read(given_back(frame.returned))
        if entered_loss:
            self.reach(value, frame)
        return value

    def _generates(self, node: cst.CSTNode) -> bool:
        return any(self.tree.enclosing(each, cst.FunctionDef) is node for each in self.tree.find(cst.Yield))

    def enter(self, node: cst.FunctionDef) -> None:
        """Follow a function whose callers are not known."""
        info = self.classes.owner(node)
        bound: Instance | None = None
        if info is not None and info.methods.get(node.name.value) is node:
            if info.node not in self._instances:
                self._instances[info.node] = self.construct(info.node, NO_ARGUMENTS, self.top)
            bound = self._instances[info.node]
        self.invoke(Closure(node, None, bound), NO_ARGUMENTS, self.top, info.name if info is not None else "")

    def reach(self, value: Value, frame: StackFrame) -> None:
        """A loss is differentiated: file the operations that its gradient flows through.

        Args:
            value: the loss.
            frame: where evaluation stands: under `no_grad` nothing flows.
        """
        if not frame.differentiates:
            return
        flows: list[GradientFlow] = [flow for tensor in tensors(value) for flow in tensor.through]
        for flow in flows:
            self.reached[flow.operation] = self.reached.get(flow.operation, True) and flow.damped

    def _outermost(self, node: cst.CSTNode) -> StackFrame:
        """The frame of the module that holds a definition; another file's own variables are not followed."""
        root = self.tree.root(node)
        return self.top if root is self.tree.module else self._abroad.setdefault(root, StackFrame(root))

    def _placed_here(self, value: Value) -> Value:
        """The value without what it says of places in other files: a rule would take them for places of this one."""
        return with_tensors(value, lambda tensor: tensor.placed(self.is_here))
