"""A deprecated name of AMP replaced where it is used: in a call, a decorator, a partial, or as a type."""

from __future__ import annotations

import ast

import libcst as cst

from amplint.diagnostics import SAFE, UNSAFE, Applicability, Edit, Fix
from amplint.model.records import frozen
from amplint.model.torch import names as torch_names
from amplint.model.torch.names import Replacement
from amplint.rule import File

from .call_edits import has_star, in_format_string, insert_arguments, quoted
from .nested_regions import may_be_nested
from .version_checks import expects_absence


@frozen
class _Rewrite:
    """What becomes of the place around a deprecated name: edits, what is put behind the name, and how to call it."""

    title: str
    edits: tuple[Edit, ...] = ()
    suffix: str = ""
    applicability: Applicability = SAFE


def replacement_of_use(file: File, node: cst.Name | cst.Attribute, name: str) -> Fix | None:
    """The fix that puts the new name in the place of a deprecated one; None where it may not fit.

    Args:
        file: the file.
        node: the use.
        name: the deprecated name that it means.
    """
    if in_format_string(file, node) or expects_absence(file, node):
        return None
    new = torch_names.DEPRECATED[name]
    rewrite = _rewrite(file, node, new)
    spelling, edits = file.importer.get(new.name, node)
    if rewrite is None or edits and file.importer.is_conditional(node):
        return None
    source = file.importer.import_of(node)
    if (
        source is not None
        and file.importer.is_last_use(source)
        and spelling.partition(".")[0] != file.importer.local_name(source)
    ):
        edits = (*edits, *file.importer.remove(source))
    renamed = Edit(*file.tree.span(node), spelling + rewrite.suffix)
    return Fix(
        f"Replace with `{rewrite.title}`",
        file.importer.joined([*edits, renamed, *rewrite.edits]),
        rewrite.applicability,
    )


def _rewrite(file: File, node: cst.Name | cst.Attribute, new: Replacement) -> _Rewrite | None:
    parent = file.tree.parent(node)
    if isinstance(parent, cst.Call):
        return _called(file, parent, new)
    if isinstance(parent, cst.Decorator) and new.new[0] not in _DEVICE:
        title = f"{new.name}({_device(file, new)})"
        return _Rewrite(title, suffix=title[len(new.name) :])
    call = file.tree.parent(parent) if isinstance(parent, cst.Arg) else None
    if isinstance(call, cst.Call) and call.args[0] is parent and file.names.all_in(call.func, {"functools.partial"}):
        return _called(file, call, new, skip=1)
    return _Rewrite(new.name) if _is_type(file, node) else None


def _is_type(file: File, node: cst.CSTNode) -> bool:
    """Whether a class is named as a type only; the new class is a base of the old one, so that both are instances of it."""
    around = file.tree.enclosing(node, cst.Annotation, cst.Call, cst.Lambda)
    if isinstance(around, cst.Call):
        return file.names.all_in(around.func, {"builtins.isinstance"}) and around.func is not node
    return isinstance(around, cst.Annotation)


_DEVICE = ("device_type", "device")


def _device(file: File, new: Replacement) -> str:
    device = quoted(file, new.device)
    return device if new.new[0] in _DEVICE else f"device_type={device}"


def _called(file: File, call: cst.Call, new: Replacement, skip: int = 0) -> _Rewrite | None:
    """A call of the deprecated name, or of `functools.partial` with it as the first of `skip` other arguments."""
    args, device = call.args[skip:], _device(file, new)
    given = [arg for arg in args if arg.keyword is None]
    keywords = {arg.keyword.value for arg in args if arg.keyword is not None}
    if has_star(call) or len(given) > len(new.old) or keywords - {*new.old[len(given) :], *new.keywords}:
        return None  # it is no valid call of the old name, or nobody knows what it says
    if new.new[0] not in _DEVICE:
        edits = insert_arguments(file, call, [device], (), skip + len(given))
        return _Rewrite(f"{new.name}({device})", tuple(edits))
    if new.name in torch_names.AUTOCAST_GENERIC and given and _is_no_flag(file, given[0].value):
        return None
    names = ["" if new.new[1 : place + 2] == new.old[: place + 1] else name for place, name in enumerate(new.old)]
    pinned, more = _pinned(file, call, new, {*new.old[: len(given)], *keywords})
    edits = [*insert_arguments(file, call, [device, *pinned], names, skip), *more]
    plain = not skip or new.name not in torch_names.AUTOCAST_GENERIC or _is_called_plainly(file, call)
    return _Rewrite(f"{new.name}({device})", tuple(edits), applicability=SAFE if plain else UNSAFE)


def _is_no_flag(file: File, value: cst.BaseExpression) -> bool:
    """Whether a first argument was surely not meant as `enabled`."""
    return isinstance(value, (cst.SimpleString, cst.FormattedString)) or any(
        name.startswith("torch.") for name in file.names.resolve(value)
    )


def _pinned(file: File, call: cst.Call, new: Replacement, given: set[str]) -> tuple[tuple[str, ...], tuple[Edit, ...]]:
    """The `dtype` that the old `autocast` has by default, where the new one could take over that of a region around it."""
    if new.name not in torch_names.AUTOCAST_GENERIC or "dtype" in given or not may_be_nested(file, call):
        return (), ()
    flags = [arg.value for arg in call.args if arg.keyword is None or arg.keyword.value == "enabled"]
    if any(isinstance(flag, cst.Name) and flag.value == "False" for flag in flags):
        return (), ()
    spelling, edits = file.importer.get("torch.float16" if new.device == "cuda" else "torch.bfloat16", call.func)
    return (f"dtype={spelling}",), edits


def _is_called_plainly(file: File, partial: cst.Call) -> bool:
    """Whether what a `functools.partial` gives is kept under a name that the file only calls without positional arguments."""
    assign = file.tree.parent(partial)
    if not isinstance(assign, cst.Assign) or len(assign.targets) != 1:
        return False
    name = file.tree.text(assign.targets[0].target).rpartition(".")[2]
    uses = calls = 0
    for node in ast.walk(file.importer.module):
        if isinstance(node, (ast.Name, ast.Attribute)) and isinstance(node.ctx, ast.Load):
            uses += name == (node.id if isinstance(node, ast.Name) else node.attr)
        elif isinstance(node, ast.Call) and not node.args and isinstance(node.func, (ast.Name, ast.Attribute)):
            calls += name == (node.func.id if isinstance(node.func, ast.Name) else node.func.attr)
    return uses == calls
