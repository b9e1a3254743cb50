"""Which expression is a scaler, an optimizer, a scheduler: by constructor first, then by use, and only then by name."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

import libcst as cst

from amplint.lowering.arguments import Arguments
from amplint.lowering.classes import Classes
from amplint.lowering.conditions import words
from amplint.lowering.contexts import Contexts
from amplint.lowering.imports import Imports
from amplint.lowering.names import LOCAL, UNKNOWN, Names, dotted
from amplint.lowering.tree import Tree, children
from amplint.model import torch_api
from amplint.model.events import ObjectFacts
from amplint.model.libraries import has_own_protocol

_SCALER_CLASSES = torch_api.GRAD_SCALER | {
    "torch.distributed.fsdp.sharded_grad_scaler.ShardedGradScaler",
    "torch.distributed.fsdp.ShardedGradScaler",
}
_SCALER_NAME = re.compile(r"(^|_)(grad_?|loss_|amp_|fp16_)?scaler(s|_\w+)?$", re.IGNORECASE)
_OPTIMIZER_NAME = re.compile(r"(^|_)(optim(izer)?s?|opt)(\d|_|$)|optimizer", re.IGNORECASE)
_OPTIMIZER_CLASS = re.compile(
    r"^[A-Z]\w*(Optim|Adam|SGD|Lamb)|^(Adam|SGD|Lion|Lamb|RMSprop|Adagrad|Adafactor|Muon|LBFGS|Optim)|"
    r"^_?(build|create|make|get|init|setup|configure|construct|load)\w*optim"
)
_SCHEDULER_NAME = re.compile(r"(^|_)((lr_?)?sched(uler)?s?|lrs)(\d|_|$)", re.IGNORECASE)
_SCHEDULE_CLASS = re.compile(r"LR|Sched|Anneal|Warm|Scaler|Optim")
_NOT_RATE = re.compile(
    r"noise|ddpm|ddim|diffusion|beta|momentum|weight_decay|(^|_)wd|temp|ema|(^|_)kl|tau|mask|alpha|margin|sigma|task|plateau|prof",
    re.IGNORECASE,
)
_SCHEDULER_MAKERS = (
    "torch.optim.lr_scheduler.", "transformers.get_", "transformers.optimization.get_", "diffusers.optimization.get_",
)  # fmt: skip
_NOT_PER_STEP = frozenset({"torch.optim.lr_scheduler.ReduceLROnPlateau"})
_FRAMEWORK_NAME = re.compile(
    r"^(accelerator|fabric|engine|model_engine|trainer|booster|strategy|xm|ds_engine|loss_scaler)$"
)

OPTIMIZER_USES = frozenset({"step", "unscale_"})


class Roles:
    """What the objects of one file are."""

    def __init__(
        self, tree: Tree, names: Names, classes: Classes, contexts: Contexts, imports: Imports, arguments: Arguments
    ) -> None:
        self._tree = tree
        self._names = names
        self._classes = classes
        self._contexts = contexts
        self._imports = imports
        self._arguments = arguments
        self._cache: dict[tuple[cst.CSTNode, str], ObjectFacts] = {}
        self._uses: dict[cst.Module, dict[str, str]] = {}

    def of(self, node: cst.BaseExpression) -> ObjectFacts:
        """What is known of the object that an expression names or makes."""
        path = path_of(node)
        if not path:
            return self.made_by(node) or ObjectFacts()
        key = (self._names.scope(node), path)
        if key not in self._cache:
            self._cache[key] = ObjectFacts()  # stands while it is worked out: an alias may lead back here
            self._cache[key] = self._work_out(node, path)
        return self._cache[key]

    def _work_out(self, node: cst.BaseExpression, path: str) -> ObjectFacts:
        values = list(self.values(node))
        if not values and path not in self._used_as(node) and (given := self._as_given(node)).role:
            return given
        made = [facts for value in values if (facts := self.made_by(value)) is not None]
        if any(facts.role == "framework" for value in values if _wraps(value, path) and (facts := self.made_by(value))):
            return ObjectFacts("framework")
        known = [facts for facts in made if facts.role]
        if known and len({facts.role for facts in known}) == 1:
            first = known[0]
            made_always = len(known) == len(values) and all(facts.made for facts in known)
            maker = first.maker if len({facts.maker for facts in known}) == 1 else ""
            return replace(first, enabled=_join(known), owners=_all_owners(known), made=made_always, maker=maker)
        if known or (made and any(facts.role == "" for facts in made)):
            return ObjectFacts()
        if path not in self._used_as(node) and any(self._is_foreign(value) or _is_plain(value) for value in values):
            return ObjectFacts()
        return ObjectFacts(self._by_use_or_name(node, path))

    def _as_given(self, node: cst.BaseExpression) -> ObjectFacts:
        """What is known of a parameter from the calls in sight; there may be others, so that it may also be another object."""
        facts = [found for value in self.given(node) if (found := self.made_by(value)) is not None]
        if not facts or len({each.role for each in facts}) > 1:
            return ObjectFacts()
        return replace(facts[0], enabled=_join(facts), owners=(), made=False, maker="")

    def _is_foreign(self, value: cst.BaseExpression) -> bool:
        """Whether a value is an instance of a class that is neither optimizer nor scheduler by its name, nor gets parameters."""
        name = path_of(value.func).rpartition(".")[2] if isinstance(value, cst.Call) else ""
        known = _OPTIMIZER_CLASS.search(name) or _SCHEDULE_CLASS.search(name)
        return name[:1].isupper() and known is None and not any("param" in word for word in words(value))

    def values(self, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """What may be assigned to a name, an attribute of `self`, or an element of either."""
        while isinstance(node, cst.Subscript):
            node = node.value
        if isinstance(node, cst.Name):
            for binding in self._names.bindings(node.value, node):
                if binding.value is not None:
                    yield binding.value
                elif isinstance(binding.node, cst.ImportAlias):
                    elsewhere = self._imports.bindings(binding.qualified)
                    yield from (each.value for each in elsewhere if each.value is not None)
                elif isinstance(binding.node, cst.Name) and (value := self._unpacked(binding.node)) is not None:
                    yield value
        elif isinstance(node, cst.Attribute) and dotted(node.value) == "self":
            owner = self._classes.owner(node)
            if owner is not None:
                yield from owner.values(node.attr.value)

    def given(self, node: cst.BaseExpression) -> Iterator[cst.BaseExpression]:
        """What the calls in sight give to the parameter that a name stands for."""
        bindings = self._names.bindings(node.value, node) if isinstance(node, cst.Name) else []
        if len(bindings) == 1 and isinstance(bindings[0].node, cst.Param):
            yield from self._arguments.of(bindings[0].node)

    def _unpacked(self, target: cst.Name) -> cst.BaseExpression | None:
        """The call that targets are unpacked from (`model, optimizer = accelerator.prepare(...)`), or `with` enters."""
        binder = self._tree.enclosing(target, cst.Assign, cst.For, cst.WithItem, cst.FunctionDef)
        value = (
            binder.value
            if isinstance(binder, cst.Assign)
            else binder.item
            if isinstance(binder, cst.WithItem)
            else None
        )
        return value if isinstance(value, cst.Call) else None

    # -- by constructor --------------------------------------------------------------------------------------------

    def made_by(self, value: cst.BaseExpression) -> ObjectFacts | None:
        """What an expression makes; None when that cannot be told, no role when it is something else."""
        if isinstance(value, cst.IfExp):
            sides = [facts for side in (value.body, value.orelse) if (facts := self.made_by(side)) is not None]
            maker = sides[0].maker if len({facts.maker for facts in sides}) == 1 else ""
            return replace(sides[0], enabled="maybe", made=len(sides) == 2, maker=maker) if sides else None
        if isinstance(value, cst.BooleanOperation):
            return self.made_by(value.left) or self.made_by(value.right)
        if isinstance(value, (cst.List, cst.Tuple)):
            return next((facts for item in value.elements if (facts := self.made_by(item.value))), None)
        if isinstance(value, cst.ListComp):
            return self.made_by(value.elt)
        if isinstance(value, cst.Dict):
            elements = (item.value for item in value.elements)
            return next((facts for item in elements if (facts := self.made_by(item))), None)
        if isinstance(value, cst.Call):
            return self._called(value)
        if isinstance(value, (cst.Name, cst.Attribute, cst.Subscript)) and path_of(value) not in ("", "None"):
            facts = self.of(value)
            return facts if facts.role else None
        return None

    def _called(self, call: cst.Call) -> ObjectFacts | None:
        facts = self._constructed(call)
        return replace(facts, maker=self._maker(call)) if facts is not None and facts.role else facts

    def _maker(self, call: cst.Call) -> str:
        """The text of a call, with the full name of what is called; empty when that name may have several meanings."""
        meanings = self._names.resolve(call.func)
        if len(meanings) != 1:
            return ""
        given = ", ".join(
            self._tree.module.code_for_node(arg.with_changes(comma=cst.MaybeSentinel.DEFAULT)) for arg in call.args
        )
        return f"{next(iter(meanings))}({given})"

    def _constructed(self, call: cst.Call) -> ObjectFacts | None:
        meanings = self._names.resolve(call.func)
        if all(map(_is_scaler_name, meanings)) or self._is_scaler_class(call):
            return self._scaler(call)
        if all(name.startswith(_SCHEDULER_MAKERS) for name in meanings):
            return ObjectFacts("" if meanings & _NOT_PER_STEP else "scheduler", self._scheduled(call))
        last = call.func.attr.value if isinstance(call.func, cst.Attribute) else dotted(call.func)
        if all(name.startswith("torch.optim.") and ".swa_utils" not in name for name in meanings):
            return ObjectFacts("optimizer", self.owners(*(arg.value for arg in call.args)), made=True)
        if all(map(has_own_protocol, meanings)) or last in (
            "prepare",
            "setup",
            "setup_optimizers",
            "initialize",
        ):
            return ObjectFacts("framework")
        if last.endswith("Scheduler") and (
            _NOT_RATE.search(last) or all(name.startswith("diffusers.") for name in meanings)
        ):
            return ObjectFacts()
        if "sklearn" in "".join(sorted(meanings)):
            return ObjectFacts()
        if last and _OPTIMIZER_CLASS.search(last) and not _SCHEDULER_NAME.search(last) and not self._is_unpacked(call):
            return ObjectFacts("optimizer", self.owners(*(arg.value for arg in call.args)))
        return ObjectFacts() if all(name.startswith("torch.") for name in meanings) else None

    def _is_unpacked(self, call: cst.Call) -> bool:
        """Whether several targets share what a call returns (`optimizer, scheduler = configure_optimizers()`)."""
        assign = self._tree.parent(call)
        return isinstance(assign, cst.Assign) and any(
            isinstance(each.target, (cst.Tuple, cst.List)) for each in assign.targets
        )

    def _scheduled(self, call: cst.Call) -> tuple[str, ...]:
        """The optimizer whose rate a scheduler sets."""
        given = [arg.value for arg in call.args if arg.keyword is None or arg.keyword.value == "optimizer"][:1]
        return tuple(path_of(node) for node in given if path_of(node))

    def _is_scaler_class(self, call: cst.Call) -> bool:
        # Other files are asked about classes that are called scalers alone: asking about every class would read them all.
        info = self._classes.instance_of(call, abroad="scaler" in path_of(call.func).lower())
        return info is not None and any(base.base_names & _SCALER_CLASSES for base in info.lineage)

    def _scaler(self, call: cst.Call) -> ObjectFacts:
        given = {arg.keyword.value: arg.value for arg in call.args if arg.keyword is not None}
        positional = [arg.value for arg in call.args if arg.keyword is None and not arg.star]
        old = self._names.any_in(call.func, torch_api.GRAD_SCALER_DEVICE)
        if "init_scale" not in given and len(positional) > (0 if old else 1):
            given["init_scale"] = positional[0 if old else 1]
        scale = given.get("init_scale")
        text = self._tree.module.code_for_node(scale) if scale is not None else "65536.0"
        return ObjectFacts("scaler", (), self._contexts.flag(given.get("enabled")), text, made=True)

    def owners(self, *expressions: cst.BaseExpression) -> tuple[str, ...]:
        """The paths from which the parameters in expressions come: `model` of `model.parameters()`."""
        found: dict[str, None] = {}
        for expression in expressions:
            self._owners_in(expression, found, 0)
        return tuple(path for path in found if path)

    def _owners_in(self, node: cst.CSTNode, found: dict[str, None], depth: int) -> None:
        if isinstance(node, cst.Call) and isinstance(node.func, cst.Attribute) and "param" in node.func.attr.value:
            found[path_of(node.func.value)] = None
            for arg in node.args:
                self._owners_in(arg.value, found, depth)
            return
        path = path_of(node) if isinstance(node, (cst.Name, cst.Attribute, cst.Subscript)) else ""
        if path:
            found[path] = None
            if depth < 3 and isinstance(node, (cst.Name, cst.Attribute)):
                for value in self.values(node):
                    self._owners_in(value, found, depth + 1)
            return
        for child in children(node):
            if not isinstance(child, cst.Arg) or child.keyword is None or child.keyword.value == "params":
                self._owners_in(child, found, depth)

    # -- by use and by name ----------------------------------------------------------------------------------------

    def _used_as(self, node: cst.CSTNode) -> dict[str, str]:
        """The roles that uses in the file of `node` tell, by path."""
        root = self._tree.root(node)
        if root not in self._uses:
            self._uses[root] = _uses_in(self._tree.find(cst.Call, around=root))
        return self._uses[root]

    def _by_use_or_name(self, node: cst.BaseExpression, path: str) -> str:
        meanings = self._names.resolve(node)
        if any(name != UNKNOWN and not name.startswith((LOCAL, "builtins.")) for name in meanings):
            return "framework" if _FRAMEWORK_NAME.match(path) or all(map(has_own_protocol, meanings)) else ""
        used_as = self._used_as(node)
        if path in used_as:
            return used_as[path]
        last = _last(path)
        if _FRAMEWORK_NAME.match(last):
            return "framework"
        if _SCALER_NAME.search(last):
            opaque = any(not (isinstance(value, cst.Name) and value.value == "None") for value in self.values(node))
            return "framework" if opaque else "scaler"
        if _SCHEDULER_NAME.search(last):
            return "" if _NOT_RATE.search(last) else "scheduler"
        if _OPTIMIZER_NAME.search(last):
            return "optimizer"
        return ""


def _uses_in(found: Iterable[cst.Call]) -> dict[str, str]:
    """What the calls of a file say about the objects in them: who unscales is a scaler, what is unscaled an optimizer."""
    calls = [(call, call.func) for call in found if isinstance(call.func, cst.Attribute)]
    used_as: dict[str, str] = {}
    for _, func in calls:
        if func.attr.value == "unscale_":
            used_as[path_of(func.value)] = "scaler"
        elif func.attr.value == "backward" and isinstance(func.value, cst.Call):
            inner = func.value.func
            if isinstance(inner, cst.Attribute) and inner.attr.value == "scale":
                used_as[path_of(inner.value)] = "scaler"
    for call, func in calls:
        path = path_of(func.value)
        if func.attr.value in OPTIMIZER_USES and call.args:
            if used_as.get(path) == "scaler" or _SCALER_NAME.search(_last(path)):
                used_as.setdefault(path_of(call.args[0].value), "optimizer")
    used_as.pop("", None)
    return used_as


def path_of(node: cst.CSTNode) -> str:
    """The access path of an expression: names, attributes, and elements (`opts[i]`, `opts[*]`); empty for anything else."""
    if isinstance(node, cst.Name):
        return node.value
    if isinstance(node, cst.Attribute):
        base = path_of(node.value)
        return f"{base}.{node.attr.value}" if base else ""
    if isinstance(node, cst.Subscript) and len(node.slice) == 1:
        base = path_of(node.value)
        index = node.slice[0].slice
        inside = "*"
        if isinstance(index, cst.Index) and isinstance(index.value, (cst.SimpleString, cst.Integer, cst.Name)):
            inside = index.value.value.strip("'\"")
        return f"{base}[{inside}]" if base else ""
    return ""


def _is_scaler_name(qualified: str) -> bool:
    """Whether a name is that of torch's own scaler, or of one that a device's package has in its place (`torch.npu.amp`)."""
    return qualified in _SCALER_CLASSES or (qualified.startswith("torch.") and qualified.endswith(".amp.GradScaler"))


def _wraps(value: cst.BaseExpression, path: str) -> bool:
    """Whether an object is made of what goes by its name before: `model, optimizer = accelerator.prepare(model, optimizer)`."""
    return isinstance(value, cst.Call) and any(path_of(arg.value) == path for arg in value.args)


def _is_plain(value: cst.BaseExpression) -> bool:
    """Whether a value is a truth or a number, which is no object whatever it is called."""
    if isinstance(value, cst.Name):
        return value.value in ("True", "False")
    return isinstance(value, (cst.Comparison, cst.UnaryOperation, cst.Integer, cst.Float))


def _last(path: str) -> str:
    """What an object is called: `scaler` for `state[scaler]` too, whose key is a name."""
    key = re.search(r"\[([A-Za-z_]\w*)\]$", path)
    if key is not None:
        return key[1]
    return re.sub(r"\[[^]]*\]", "", path).rpartition(".")[2]


def _join(facts: list[ObjectFacts]) -> str:
    return facts[0].enabled if len({each.enabled for each in facts}) == 1 else "maybe"


def _all_owners(facts: list[ObjectFacts]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(owner for each in facts for owner in each.owners))
