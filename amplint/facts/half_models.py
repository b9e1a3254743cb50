"""Models that are made half, and the optimizers of their parameters that a scaler steps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import libcst as cst

from amplint.file import File
from amplint.model.events import ObjectFacts
from amplint.model.torch.layers import SAME_MODULE
from amplint.model.torch.precision import FLOAT16, FLOAT32, FLOAT64, named
from amplint.syntax.access_paths import called_name, path_of
from amplint.syntax.bindings import targets
from amplint.syntax.names import dotted
from amplint.syntax.value_flow import How

_HALF, _FULL = named(FLOAT16), named(FLOAT32, FLOAT64)
_SAME = SAME_MODULE | {"half"}
_ALLOWS_HALF = re.compile(r"ShardedGradScaler|_unscale_grads_")


@dataclass(frozen=True)
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
        self._classes = file.classes
        self._tree, self._names, self._roles, self._flow = file.tree, file.names, file.roles, file.flow

    def stepped(self) -> Iterator[Halved]:
        """The casts after which a scaler meets gradients in float16, which it refuses to unscale."""
        methods = [call for call in self._tree.find(cst.Call) if isinstance(call.func, cst.Attribute)]
        if any(_ALLOWS_HALF.search(name.value) for name in self._tree.find(cst.Name)):
            return
        for cast in methods:
            path = self._subject(cast) if self._is_to(cast, _HALF, "half") else ""
            if not path or self._is_taken_back(path, cast, methods):
                continue
            for made in self._optimizers(path, cast):
                step = next(self._steps(made, cast), None)
                if step is not None and not self._may_be_left_out(cast, made):
                    unscaled = self._is_unscaled(path_of(step.args[0].value))
                    yield Halved(cast, self._roles.made_by(made) or ObjectFacts(), made, step, unscaled)
                    break

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

    def _subject(self, call: cst.Call) -> str:
        """The path of the module that a chain of its methods is called on, or that gets what the chain gives."""
        assert isinstance(call.func, cst.Attribute)
        base: cst.BaseExpression = call.func.value
        while isinstance(base, cst.Call) and isinstance(base.func, cst.Attribute) and called_name(base) in _SAME:
            base = base.func.value
        if path_of(base):
            return path_of(base)
        for use in self._flow.uses(call):
            if use.how is How.ASSIGNED and len(targets(use.node)) == 1:
                return path_of(targets(use.node)[0])
            if use.how not in (How.METHOD, How.ATTRIBUTE):
                break
        return ""

    def _may_be_left_out(self, cast: cst.Call, made: cst.Call) -> bool:
        """Whether the optimizer may be made where the cast was not run."""
        around = set(self._tree.ancestors(made))
        for above in self._tree.ancestors(cast):
            if isinstance(above, (cst.FunctionDef, cst.Module)):
                return False
            if isinstance(above, (cst.If, cst.IfExp, cst.Try, cst.Match, cst.Else)) and above not in around:
                return True
        return False

    def _is_taken_back(self, path: str, cast: cst.Call, methods: list[cst.Call]) -> bool:
        """Whether the model, or a part of it, is made float32 again, or has no gradients."""
        for call in methods:
            assert isinstance(call.func, cst.Attribute)
            subject = self._subject(call)
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
        return re.search(r"requires_grad(_\(| = )False", self._tree.module.code_for_node(loop.body)) is not None

    # -- optimizers ------------------------------------------------------------------------------------------------

    def _optimizers(self, path: str, cast: cst.Call) -> Iterator[cst.Call]:
        """The constructions of optimizers that get parameters of the model."""
        for call in self._tree.find(cst.Call):
            facts = self._roles.made_by(call) if self._home(call, path) is self._home(cast, path) else None
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

    def _steps(self, made: cst.Call, cast: cst.Call) -> Iterator[cst.Call]:
        """The steps that an enabled scaler takes with an optimizer after the cast."""
        assigned = targets(self._flow.use(made).node)
        name = path_of(assigned[0]) if len(assigned) == 1 else ""
        for call, owner in self._flow.methods("step"):
            scaler, stepped = self._roles.of(owner), path_of(call.args[0].value) if call.args else ""
            if not stepped or stepped != name or scaler.role != "scaler" or scaler.enabled == "no":
                continue
            together = self._names.scope(call) is self._names.scope(cast)
            late = together and self._tree.order(call) < self._tree.order(cast)
            if not late and (not self._is_fused(made) or self._is_unscaled(stepped)):
                yield call

    def _is_fused(self, made: cst.Call) -> bool:
        """Whether an optimizer unscales by itself, which it does in float16, too."""
        return any(
            arg.keyword is not None and arg.keyword.value == "fused" and dotted(arg.value) != "False"
            for arg in made.args
        )

    def _is_unscaled(self, optimizer: str) -> bool:
        given = [call.args[0].value for call, _ in self._flow.methods("unscale_") if call.args]
        return any(path_of(each) == optimizer for each in given)
