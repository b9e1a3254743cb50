"""Models that are made half, and the optimizers of their parameters that a scaler steps."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator

import libcst as cst

from amplint.file import File
from amplint.model.events import ObjectFacts
from amplint.model.records import frozen
from amplint.model.torch.layers import SAME_MODULE
from amplint.model.torch.precision import FLOAT16, FLOAT32, FLOAT64, named
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.bindings import targets
from amplint.syntax.call_arguments import given_by
from amplint.syntax.names import dotted
from amplint.syntax.nodes import within
from amplint.syntax.value_uses import How

_HALF, _FULL = named(FLOAT16), named(FLOAT32, FLOAT64)
_SAME = SAME_MODULE | {"half"}
_DTYPE_OPTIONS = frozenset({"torch_dtype", "dtype"})
_ADAPTS = re.compile(r"peft|lora|adapter|quant|kbit|freeze", re.IGNORECASE)
"""What speaks of models of which only added weights are trained, which are float32."""
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
        self._classes, self._callees = file.classes, file.callees
        self._tree, self._names, self._roles, self._flow = file.tree, file.names, file.roles, file.flow

    def stepped(self) -> Iterator[Halved]:
        """The casts after which a scaler meets gradients in float16, which it refuses to unscale."""
        methods = [call for call in self._tree.find(cst.Call) if type(call.func) is cst.Attribute]
        if any(map(_ALLOWS_HALF.search, {name.value for name in self._tree.find(cst.Name)})):
            return
        for cast in methods:
            if self._is_to(cast, _HALF, "half") or self._is_loaded_half(cast):
                yield from itertools.islice(self._refused(cast, methods), 1)

    def _refused(self, cast: cst.Call, methods: list[cst.Call]) -> Iterator[Halved]:
        places = list(self._places(cast))
        if any(self._is_taken_back(path, cast, methods) for path, _ in places):
            return
        for path, place in places:
            for made in self._optimizers(path, place):
                step = next(self._steps(made, place), None)
                again = step is not None and self._comes_before(place, step)
                if step is not None and not any(self._may_be_left_out(each, made, again) for each in (cast, place)):
                    unscaled = self._is_unscaled({path_of(step.args[0].value)})
                    yield Halved(cast, self._roles.made_by(made) or ObjectFacts(), made, step, unscaled)

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

    def _places(self, cast: cst.Call) -> Iterator[tuple[str, cst.CSTNode]]:
        """The paths by which the model that a cast makes half goes, each with a place where it goes by it."""
        subject = self._subject(cast)
        home = self._tree.enclosing(cast, cst.FunctionDef)
        paths = list(dict.fromkeys(path for path in (subject, self._assigned_to(cast)) if path))
        yield from ((path, cast) for path in paths)
        for caller in self._callees.callers(home) if isinstance(home, cst.FunctionDef) else ():
            assert isinstance(home, cst.FunctionDef)
            given = given_by(caller, home, subject)
            if given is not None and path_of(given):
                yield path_of(given), caller
            if any(path_of(value) in paths or value is cast for value in self._returned(home)):
                target = self._assigned_to(caller)
                if target:
                    yield target, caller

    def _returned(self, function: cst.FunctionDef) -> Iterator[cst.BaseExpression]:
        """What a function returns, before methods that hand on a module."""
        for value in self._flow.returned(function):
            while isinstance(value, cst.Call) and called_name(value) in _SAME and isinstance(value.func, cst.Attribute):
                yield value
                value = value.func.value
            yield value

    def _subject(self, call: cst.Call) -> str:
        """The path of the module that a chain of its methods is called on; of what is loaded, that of the target."""
        assert isinstance(call.func, cst.Attribute)
        base: cst.BaseExpression = call.func.value
        while type(base) is cst.Call and type(base.func) is cst.Attribute and called_name(base) in _SAME:
            base = base.func.value
        return path_of(base) if called_name(call) != "from_pretrained" else ""

    def _assigned_to(self, call: cst.Call) -> str:
        """The path that gets a module, or what methods that hand it on give."""
        for use in self._flow.uses(call):
            if use.how is How.ASSIGNED and len(targets(use.node)) == 1:
                return path_of(targets(use.node)[0])
            if use.how is not How.METHOD or use.name not in _SAME:
                break
        return ""

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

    def _is_taken_back(self, path: str, cast: cst.Call, methods: list[cst.Call]) -> bool:
        """Whether the model, or a part of it, is made float32 again, or has no gradients."""
        for call in methods:
            assert isinstance(call.func, cst.Attribute)
            subject = self._subject(call) or self._assigned_to(call)
            frozen = call.func.attr.value == "requires_grad_" and any(dotted(arg.value) == "False" for arg in call.args)
            if (frozen or self._is_to(call, _FULL, "float")) and call is not cast:
                if subject == path or subject.startswith(f"{path}.") or (frozen and path.startswith(f"{subject}.")):
                    return True
        return any(self._freezes(loop, path) for loop in self._tree.find(cst.For))

    def _freezes(self, loop: cst.For, path: str) -> bool:
        """Whether a loop takes the gradients of a model's parameters away: `for p in model.parameters(): ...`."""
        owners = self._roles.owners(loop.iter)
        if not any(path == owner or path.startswith(f"{owner}.") for owner in owners):
            return False
        return re.search(r"requires_grad(_\(| = )False", self._tree.text(loop)) is not None

    # -- optimizers ------------------------------------------------------------------------------------------------

    def _optimizers(self, path: str, place: cst.CSTNode) -> Iterator[cst.Call]:
        """The constructions of optimizers that get parameters of the model."""
        for call in self._tree.find(cst.Call):
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
            return owner.node if owner is not None else self._tree.module
        return self._names.scope(node)

    def _steps(self, made: cst.Call, place: cst.CSTNode) -> Iterator[cst.Call]:
        """The steps that an enabled scaler takes with an optimizer after a place where its model is half."""
        assigned = targets(self._flow.use(made).node)
        name = path_of(assigned[0]) if len(assigned) == 1 else ""
        order = self._tree.order
        for call, owner in self._flow.methods("step"):
            scaler, given = self._roles.of(owner), call.args[0].value if call.args else None
            stepped = {path_of(each) for each in (given, *self._flow.values(given))} if given is not None else set()
            if not name or name not in stepped or scaler.role != "scaler" or scaler.enabled == "no":
                continue
            together = self._names.scope(call) is self._names.scope(place)
            # A training that is called is over, if nothing is made afterwards; but no constructor calls one.
            first, scope = call if together else made, self._names.scope(place)
            trains = together or not (isinstance(scope, cst.FunctionDef) and scope.name.value == "__init__")
            late = trains and self._names.scope(first) is scope and order(first) < order(place)
            late = late and not self._comes_before(place, call)
            if not late and (not self._is_fused(made) or self._is_unscaled(stepped)):
                yield call

    def _is_fused(self, made: cst.Call) -> bool:
        """Whether an optimizer unscales by itself, which it does in float16, too."""
        return any(
            arg.keyword is not None and arg.keyword.value == "fused" and dotted(arg.value) != "False"
            for arg in made.args
        )

    def _is_unscaled(self, names: set[str]) -> bool:
        given = [call.args[0].value for call, _ in self._flow.methods("unscale_") if call.args]
        return any(path_of(each) in names for each in given)


def _is_periodic(branch: cst.If) -> bool:
    """Whether a branch is taken every so many turns: `(epoch + 1) % 5 == 0`."""
    match branch.test:
        case cst.Comparison(left=cst.BinaryOperation(operator=cst.Modulo())):
            return not isinstance(branch.orelse, cst.If)
    return False
