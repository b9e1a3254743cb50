"""Models that are made half, and the optimizers of their parameters that a scaler steps."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterable, Iterator

import libcst as cst

from amplint.facts.module_paths import ModulePath, ModulePaths
from amplint.file import File
from amplint.model.events import ObjectFacts
from amplint.model.records import frozen
from amplint.model.torch.precision import FLOAT16, FLOAT32, FLOAT64, named
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.bindings import targets
from amplint.syntax.names import dotted
from amplint.syntax.nodes import within
from amplint.syntax.tree import Tree
from amplint.syntax.value_uses import How

_HALF, _FULL = named(FLOAT16), named(FLOAT32, FLOAT64)
_DTYPE_OPTIONS = frozenset({"torch_dtype", "dtype"})
_ADAPTS = re.compile(r"peft|lora|adapter|quant|kbit|freeze", re.IGNORECASE)
"""What speaks of models of which only added weights are trained, which are float32."""
_FREEZES = re.compile(r"requires_grad|freeze|frozen", re.IGNORECASE)
_NO_GRADIENTS = frozenset({"no_grad", "inference_mode", "detach"})
"""What a class whose part gets no gradients may compute with."""
_LOOPS = (cst.For, cst.While)
_ALLOWS_HALF = re.compile(r"ShardedGradScaler|_unscale_grads_")


@frozen
class Halved:
    """A cast of a model to half: the call, the optimizer of its parameters, and the scaler's step of that optimizer.

    `made` constructs the optimizer; `unscaled` says that `unscale_` is called for it.
    """

    cast: cst.Call
    optimizer: ObjectFacts
    made: cst.Call
    step: cst.Call
    unscaled: bool

    @property
    def name(self) -> cst.Name:
        """The name of the method that casts."""
        assert isinstance(self.cast.func, cst.Attribute)
        return self.cast.func.attr


class Halves:
    """The casts of models in one file."""

    def __init__(self, file: File) -> None:
        self._paths, self._classes = file.fact(ModulePaths), file.classes
        self._tree, self._names, self._roles, self._flow = file.tree, file.names, file.roles, file.flow

    def stepped(self) -> Iterator[Halved]:
        """The casts after which a scaler meets gradients in float16, which it refuses to unscale."""
        if not self._is_allowed(self._tree.module):
            for cast in _methods(self._tree, self._tree.module):
                if self._is_to(cast, _HALF, "half") or self._is_loaded_half(cast):
                    yield from itertools.islice(self._refused(cast), 1)

    def _refused(self, cast: cst.Call) -> Iterator[Halved]:
        reached = self._paths.after(cast)
        roots = dict.fromkeys(self._tree.root(each.place) for each in reached)
        if any(map(self._is_allowed, roots)) or any(self._is_taken_back(each.path, cast, roots) for each in reached):
            return
        if any(each.part for each in reached) and any(map(self._may_freeze, roots)):
            return
        for known in reached:
            for made in self._optimizers(known.path, known.place):
                step = next((each for each in self._steps(made, known.place) if self._is_run(each, known)), None)
                again = step is not None and self._comes_before(known.place, step)
                if step is not None and not any(self._may_be_left_out(each, made, again) for each in known.through):
                    unscaled = self._is_unscaled({path_of(step.args[0].value)}, step)
                    yield Halved(cast, self._roles.made_by(made) or ObjectFacts(), made, step, unscaled)

    def _may_freeze(self, root: cst.Module) -> bool:
        """Whether a file may keep the parameters of a part of a model from getting gradients."""
        names = (name.value for name in self._tree.find(cst.Name, around=root))
        if any(map(_FREEZES.search, names)):
            return True
        classes = self._tree.find(cst.ClassDef, around=root)
        return any(each.value in _NO_GRADIENTS for node in classes for each in self._tree.inside(node, cst.Name))

    def _is_allowed(self, root: cst.Module) -> bool:
        """Whether a file speaks of a scaler that takes gradients in float16."""
        return any(map(_ALLOWS_HALF.search, {name.value for name in self._tree.find(cst.Name, around=root)}))

    def dtype_argument(self, cast: cst.Call) -> cst.Arg | None:
        """The argument of `.to()` that is the dtype."""
        return next((arg for arg in cast.args if self._names.all_in(arg.value, _HALF)), None)

    # -- casts -----------------------------------------------------------------------------------------------------

    def _is_to(self, call: cst.Call, dtypes: frozenset[str], name: str) -> bool:
        assert isinstance(call.func, cst.Attribute)
        if call.func.attr.value == name:
            return not call.args
        return call.func.attr.value in ("to", "type") and any(
            self._names.all_in(arg.value, dtypes) for arg in call.args
        )

    def _is_loaded_half(self, call: cst.Call) -> bool:
        """Whether a call loads a pretrained model in float16, which nobody wraps, adapts or freezes afterwards."""
        given = {arg.keyword.value for arg in call.args if arg.keyword and self._names.all_in(arg.value, _HALF)}
        if called_name(call) != "from_pretrained" or given.isdisjoint(_DTYPE_OPTIONS):
            return False
        return not any(_ADAPTS.search(name.value) for name in self._tree.find(cst.Name))

    def _may_be_left_out(self, cast: cst.CSTNode, made: cst.Call, again: bool) -> bool:
        """Whether the optimizer may be made where the cast was not run; `again` and again it is run every few turns, too."""
        around = set(self._tree.ancestors(made))
        for above in self._tree.ancestors(cast):
            if isinstance(above, (cst.FunctionDef, cst.Module)):
                return False
            if isinstance(above, (cst.If, cst.IfExp, cst.Try, cst.Match, cst.Else)) and above not in around:
                if not (again and isinstance(above, cst.If) and _is_periodic(above)):
                    return True
        return False

    def _comes_before(self, place: cst.CSTNode, step: cst.Call) -> bool:
        """Whether a loop leads from a place to a step that stands above it, without leaving in between."""
        around = set(self._tree.ancestors(step))
        loop = next((each for each in self._tree.ancestors(place) if isinstance(each, _LOOPS) and each in around), None)
        if loop is None or self._names.scope(place) is not self._names.scope(step):
            return False
        late = (each for each in within(loop) if isinstance(each, (cst.Break, cst.Return)))
        return not any(self._tree.order(each) > self._tree.order(place) for each in late)

    def _is_taken_back(self, path: str, cast: cst.Call, roots: Iterable[cst.Module]) -> bool:
        """Whether the model, or a part of it, is made float32 again, or has no gradients."""
        for call in (call for root in roots for call in _methods(self._tree, root)):
            assert isinstance(call.func, cst.Attribute)
            subject = self._paths.subject(call) or self._paths.assigned_to(call)
            frozen = call.func.attr.value == "requires_grad_" and any(dotted(arg.value) == "False" for arg in call.args)
            if (frozen or self._is_to(call, _FULL, "float")) and call is not cast:
                if f"{subject}.".startswith(f"{path}.") or (subject and path.startswith(f"{subject}.")):
                    return True
        return any(self._freezes(loop, path) for root in roots for loop in self._tree.find(cst.For, around=root))

    def _freezes(self, loop: cst.For, path: str) -> bool:
        """Whether a loop takes the gradients of a model's parameters away: `for p in model.parameters(): ...`."""
        owners = self._roles.owners(loop.iter)
        if not any(path == owner or path.startswith(f"{owner}.") for owner in owners):
            return False
        return re.search(r"requires_grad(_\(| = )False", self._tree.text(loop)) is not None

    # -- optimizers ------------------------------------------------------------------------------------------------

    def _optimizers(self, path: str, place: cst.CSTNode) -> Iterator[cst.Call]:
        """The constructions of optimizers that get parameters of the model."""
        for call in self._tree.find(cst.Call, around=self._tree.root(place)):
            facts = self._roles.made_by(call) if self._home(call, path) is self._home(place, path) else None
            if facts is not None and facts.role == "optimizer":
                if any(
                    f"{owner}.".startswith(f"{path}.") or f"{path}.".startswith(f"{owner}.") for owner in facts.owners
                ):
                    yield call

    def _home(self, node: cst.CSTNode, path: str) -> cst.CSTNode:
        """What a path belongs to: the class for attributes of `self`, the function or the module for names."""
        if path.startswith("self."):
            owner = self._classes.owner(node)
            return owner.node if owner is not None else self._tree.root(node)
        return self._names.scope(node)

    def _steps(self, made: cst.Call, place: cst.CSTNode) -> Iterator[cst.Call]:
        """The steps that an enabled scaler takes with an optimizer after a place where its model is half."""
        assigned = targets(self._flow.use(made).node)
        name = path_of(assigned[0]) if len(assigned) == 1 else ""
        order = self._tree.order
        for call in _methods(self._tree, self._tree.root(made), "step"):
            scaler, given = (
                self._roles.of(cst.ensure_type(call.func, cst.Attribute).value),
                call.args[0].value if call.args else None,
            )
            stepped = {path_of(each) for each in (given, *self._flow.values(given))} if given is not None else set()
            if not name or name not in stepped or scaler.role != "scaler" or scaler.enabled == "no":
                continue
            together = self._names.scope(call) is self._names.scope(place)
            # A training that is called is over, if nothing is made afterwards; but no constructor calls one.
            first, scope = call if together else made, self._names.scope(place)
            trains = together or not (isinstance(scope, cst.FunctionDef) and scope.name.value == "__init__")
            late = trains and self._names.scope(first) is scope and order(first) < order(place)
            late = late and not self._comes_before(place, call)
            if not late and (not self._is_fused(made) or self._is_unscaled(stepped, call)):
                yield call

    def _is_run(self, step: cst.Call, known: ModulePath) -> bool:
        """Whether the methods that are called of an object which keeps the model lead to a step, if the step is its own."""
        info = self._classes.instance_of(known.given_to) if known.given_to is not None else None
        named = self._paths.assigned_to(known.given_to) if known.given_to is not None else ""
        asked = [name for name in self._flow.mentions(named, known.given_to or step) if named]
        waiting = {use.name for name in asked if (use := self._flow.use(name)).how is How.METHOD}
        if info is None or not waiting:
            return True
        methods: dict[str, cst.FunctionDef | None] = {}
        while waiting:
            methods.update((name, info.method(name)) for name in waiting)
            inside = (node for name in waiting for node in within(methods[name] or cst.Pass()))
            named_there = {path_of(node.func) for node in inside if isinstance(node, cst.Call)}
            waiting = {path.removeprefix("self.") for path in named_there if path.startswith("self.")} - methods.keys()
        return self._tree.enclosing(step, cst.FunctionDef) in methods.values()

    def _is_fused(self, made: cst.Call) -> bool:
        """Whether an optimizer unscales by itself, which it does in float16, too."""
        return any(
            arg.keyword is not None and arg.keyword.value == "fused" and dotted(arg.value) != "False"
            for arg in made.args
        )

    def _is_unscaled(self, names: set[str], step: cst.Call) -> bool:
        """Whether a call in the file of a step unscales an optimizer of one of some names."""
        calls = _methods(self._tree, self._tree.root(step), "unscale_")
        return any(path_of(call.args[0].value) in names for call in calls if call.args)


def _methods(tree: Tree, root: cst.Module, name: str = "") -> Iterator[cst.Call]:
    """The calls in a file of methods of some name, or of any."""
    for call in tree.find(cst.Call, around=root):
        if type(call.func) is cst.Attribute and name in ("", call.func.attr.value):
            yield call


def _is_periodic(branch: cst.If) -> bool:
    """Whether a branch is taken every so many turns: `(epoch + 1) % 5 == 0`."""
    match branch.test:
        case cst.Comparison(left=cst.BinaryOperation(operator=cst.Modulo())):
            return not isinstance(branch.orelse, cst.If)
    return False
