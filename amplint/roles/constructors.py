"""What a call constructs: a scaler, an optimizer, a scheduler, an object of a framework, or something else."""

from __future__ import annotations

from collections.abc import Callable

import libcst as cst

from amplint.model import vocabulary
from amplint.model.events import ObjectFacts
from amplint.model.libraries import has_own_protocol, is_optimizer
from amplint.model.records import changed
from amplint.model.torch import names as torch_names
from amplint.roles import schedules
from amplint.roles.autocast_contexts import Contexts
from amplint.syntax.access_paths import called, called_name, path_of
from amplint.syntax.classes import Classes, ClassInfo
from amplint.syntax.names import Names, dotted
from amplint.syntax.nodes import is_sequence
from amplint.syntax.tree import Tree

_PARENTHESIZED = frozenset({cst.Tuple, cst.GeneratorExp, cst.NamedExpr, cst.Yield})
"""What is no argument without its parentheses, which do not count as a part of it."""


class Constructors:
    """Reads the calls of one file.

    Args:
        tree: the file.
        names: what its names mean.
        classes: its classes, which may be derived from those of torch.
        contexts: tells what an `enabled` argument comes to.
        owners: the references from which the parameters in expressions come.
    """

    def __init__(
        self, tree: Tree, names: Names, classes: Classes, contexts: Contexts, owners: Callable[..., tuple[str, ...]]
    ) -> None:
        self._tree = tree
        self._names = names
        self._classes = classes
        self._contexts = contexts
        self._owners = owners

    def of(self, call: cst.Call) -> ObjectFacts | None:
        """What a call constructs; None when that cannot be told, no role when it is something else."""
        facts = self._constructed(call)
        return changed(facts, maker=self._maker(call)) if facts is not None and facts.role else facts

    def _maker(self, call: cst.Call) -> str:
        """The text of a call, with the full name of what is called; empty when that name may have several meanings."""
        meanings = self._names.resolve(call.func)
        if len(meanings) != 1:
            return ""
        return f"{next(iter(meanings))}({', '.join(map(self._argument, call.args))})"

    def _argument(self, arg: cst.Arg) -> str:
        """The text of an argument."""
        # As a whole it has no place in Python's tree, and for the place of a tuple LibCST reads the statement again, too.
        if type(arg.value) is cst.Tuple and all(type(each) is cst.Element for each in arg.value.elements):
            text = f"({''.join(f'{self._tree.text(each.value)}, ' for each in arg.value.elements)})"
        else:
            text = self._tree.text(arg.value)
            text = f"({text})" if type(arg.value) in _PARENTHESIZED else text
        return f"{arg.keyword.value}={text}" if arg.keyword is not None else f"{arg.star}{text}"

    def _constructed(self, call: cst.Call) -> ObjectFacts | None:
        meanings = self._names.resolve(call.func)
        if any(map(_is_scaler_name, meanings)) and all(_is_scaler_name(each) or _stands_in(each) for each in meanings):
            return self._scaler(call)
        info = self._class(call)
        bases = frozenset().union(*(base.base_names for base in info.lineage)) if info is not None else frozenset()
        if all(map(_is_scaler_name, meanings)) or any(map(_is_scaler_name, bases)):
            facts = self._scaler(call)
            return changed(facts, enabled="no") if info is not None and self._disables_itself(info) else facts
        strange = any(name.lower().endswith("scaler") and self._classes.is_strange(name) for name in bases)
        if strange or any(map(has_own_protocol, bases)):
            return ObjectFacts("framework")
        if all(name.startswith(torch_names.SCHEDULER_MAKERS) for name in meanings):
            return ObjectFacts("" if meanings & torch_names.NOT_PER_STEP else "scheduler", self._scheduled(call))
        pace = schedules.pace(info, self._tree) if info is not None else None
        if pace is not None:
            return ObjectFacts("scheduler" if pace is schedules.Pace.CALLS else "follower", self._scheduled(call))
        last = call.func.attr.value if type(call.func) is cst.Attribute else dotted(call.func)
        if all(map(_is_optimizer_name, meanings)):
            return ObjectFacts("optimizer", self._owners(*(arg.value for arg in call.args)), made=True)
        if all(map(has_own_protocol, meanings)) or (vocabulary.HANDED_OUT.search(last) and not self._is_own(call)):
            return ObjectFacts("framework")
        if last.endswith("Scheduler") and (
            vocabulary.NOT_RATE.search(last) or all(name.startswith("diffusers.") for name in meanings)
        ):
            return ObjectFacts()
        if "sklearn" in "".join(sorted(meanings)):
            return ObjectFacts()
        makes_optimizer = vocabulary.OPTIMIZER_MAKER.search(last) and not vocabulary.SCHEDULER.search(last)
        if last and makes_optimizer and not self._is_unpacked(call):
            return ObjectFacts("optimizer", self._owners(*(arg.value for arg in call.args)))
        return ObjectFacts() if all(name.startswith("torch.") for name in meanings) else None

    def _is_unpacked(self, call: cst.Call) -> bool:
        """Whether several targets share what a call returns (`optimizer, scheduler = configure_optimizers()`)."""
        assign = self._tree.parent(call)
        return isinstance(assign, cst.Assign) and any(is_sequence(each.target) for each in assign.targets)

    def _scheduled(self, call: cst.Call) -> tuple[str, ...]:
        """The optimizer whose rate a scheduler sets."""
        given = [arg.value for arg in call.args if arg.keyword is None or arg.keyword.value == "optimizer"][:1]
        return tuple(path_of(node) for node in given if path_of(node))

    def _class(self, call: cst.Call) -> ClassInfo | None:
        """The class of what a call makes, if its source is at hand."""
        # Other files are asked about classes alone that are called scalers or schedules, or are given an optimizer: asking
        # about every one would read them all.
        path = path_of(call.func)
        given = (
            call.args
            and called(path)[:1].isupper()
            and vocabulary.OPTIMIZER.search(called(path_of(call.args[0].value)))
        )
        abroad = "scaler" in path.lower() or vocabulary.RATE_CLASS.search(called(path)) is not None or bool(given)
        return self._classes.instance_of(call, abroad)

    def _is_own(self, call: cst.Call) -> bool:
        """Whether a call is of a function of this file that asks no library to wrap what it is given."""
        func, owner = call.func, self._classes.owner(call)
        if isinstance(func, cst.Name):
            bindings = self._names.bindings(func.value, func)
            home = bindings[0].node if len(bindings) == 1 else None
        else:
            of_self = isinstance(func, cst.Attribute) and path_of(func.value) == "self" and owner is not None
            home = owner.method(called_name(call)) if of_self and owner is not None else None
        if not isinstance(home, cst.FunctionDef) or self._tree.root(home) is not self._tree.module:
            return False
        inside = map(called_name, self._tree.inside(home, cst.Call))
        return not any(map(vocabulary.HANDED_OUT.search, inside))

    def _disables_itself(self, info: ClassInfo) -> bool:
        """Whether a class derived from a scaler switches it off for all its objects: `super().__init__(enabled=False)`."""
        made = info.method("__init__")
        for call in self._tree.inside(made, cst.Call) if made is not None else ():
            if called_name(call) == "__init__" and self._contexts.scaler_is_enabled(call.args) == "no":
                return True
        return False

    def _scaler(self, call: cst.Call) -> ObjectFacts:
        given = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
        positional = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
        old = self._names.any_in(call.func, torch_names.GRAD_SCALER_DEVICE)
        if "init_scale" not in given and len(positional) > (0 if old else 1):
            given["init_scale"] = positional[0 if old else 1]
        scale = given.get("init_scale")
        text = self._tree.text(scale) if scale is not None else "65536.0"
        return ObjectFacts("scaler", (), self._contexts.scaler_is_enabled(call.args), text, made=True)


def _stands_in(qualified: str) -> bool:
    """Whether a name is that of what stands in for the scaler where PyTorch has none: a class called alike, or no context."""
    return qualified.rpartition(".")[2] in ("GradScaler", "nullcontext") and not has_own_protocol(qualified)


def _is_optimizer_name(qualified: str) -> bool:
    """Whether a name is that of an optimizer of torch, or of a library whose optimizers step like those."""
    return (qualified.startswith("torch.optim.") and ".swa_utils" not in qualified) or is_optimizer(qualified)


def _is_scaler_name(qualified: str) -> bool:
    """Whether a name is that of torch's own scaler, or of one that a device's package has in its place (`torch.npu.amp`)."""
    return qualified in torch_names.SCALER_CLASSES or (
        qualified.startswith("torch.") and qualified.endswith(".amp.GradScaler")
    )
