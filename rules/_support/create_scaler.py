"""Where a loop without a scaler gets one: its name, its place, and how it is made."""

from __future__ import annotations

import re
from collections.abc import Sequence

import libcst as cst

from amplint.diagnostics import Edit
from amplint.model.records import frozen
from amplint.model.torch import names as torch_names
from amplint.rule import File

from . import hazard_calls
from .call_edits import keyword, quoted
from .value_readers import is_label

Loop = cst.For | cst.While
_LOOPS = (cst.For, cst.While)
_NAMES = ("scaler", "grad_scaler", "loss_scaler", "amp_scaler")
_CALLED_IN_LOOPS = re.compile(r"epoch|step|iter|batch", re.IGNORECASE)


@frozen
class NewScaler:
    """A scaler that the edits make before the loop."""

    name: str
    edits: tuple[Edit, ...]


def training_loop(file: File, backward: cst.Call, step: cst.Call) -> Loop | None:
    """The outermost loop of the function around backward and step that uses one optimizer throughout.

    None where there is no loop, and where the function itself may run many times for the same optimizer: a scaler made in
    it would forget its scale each time.
    """
    assert isinstance(step.func, cst.Attribute)
    home = file.tree.function(step)
    made = list(file.roles.values(step.func.value))
    around = set(file.tree.ancestors(step))
    makes_optimizer = {above for value in made for above in file.tree.ancestors(value)}
    outermost: Loop | None = None
    for above in file.tree.ancestors(backward):
        if above is home or above in makes_optimizer:
            break
        if isinstance(above, _LOOPS) and above in around:
            outermost = above
    made_here = bool(made) and all(file.tree.function(value) is home for value in made)
    if isinstance(home, cst.FunctionDef) and not made_here and _may_repeat(file, home):
        return None
    return None if isinstance(home, cst.Lambda) else outermost


def _may_repeat(file: File, function: cst.FunctionDef) -> bool:
    """Whether a function is called in a loop of this file, or is called like one that is."""
    if _CALLED_IN_LOOPS.search(function.name.value):
        return True
    waiting, seen = [function], {function.name.value}
    while waiting:
        current = waiting.pop()
        if file.tree.enclosing(current, *_LOOPS) is not None:
            return True
        for call in file.tree.find(cst.Call):
            if _called_name(call) != current.name.value:
                continue
            if file.tree.enclosing(call, *_LOOPS) is not None:
                return True
            caller = file.tree.enclosing(call, cst.FunctionDef)
            if isinstance(caller, cst.FunctionDef) and caller.name.value not in seen:
                seen.add(caller.name.value)
                waiting.append(caller)
    return False


def _called_name(call: cst.Call) -> str:
    func = call.func
    return func.attr.value if isinstance(func, cst.Attribute) else func.value if isinstance(func, cst.Name) else ""


def construct(file: File, loop: Loop, optimizer: cst.BaseExpression) -> NewScaler | None:
    """Make a scaler for the float16 regions of the loop, or else of the file; None without one device and a free name."""
    name = next((name for name in _NAMES if file.editor.is_free(name)), "")
    line = _line_of_optimizer(file, loop, optimizer)
    before = file.tree.span(line or loop)[0]
    everywhere = [call for call in file.tree.find(cst.Call) if _is_half(file, call)]
    beside = [call for call in everywhere if file.tree.function(call) is file.tree.function(loop)]
    regions = [call for call in everywhere if loop in file.tree.ancestors(call)] or beside or everywhere
    device = _device(file, regions, before, loop)
    old = file.torch < torch_names.DEPRECATED["torch.cuda.amp.GradScaler"].since
    if not name or not device or (old and device != quoted(file, "cuda")):
        return None
    spelling, imports = file.importer.get("torch.cuda.amp.GradScaler" if old else "torch.amp.GradScaler", loop)
    chosen = device != quoted(file, "cuda") and any(_choice_of(file, call) is not None for call in regions)
    enabled = (_chosen_by if chosen else _enabled)(file, regions, before, loop)
    if enabled is None:
        return None
    arguments = ", ".join(filter(None, ("" if old else device, f"enabled={enabled}" if enabled else "")))
    text = f"{name} = {spelling}({arguments})"
    edit = file.editor.insert_after(line, text) if line is not None else file.editor.insert_before(loop, text)
    return NewScaler(name, (*imports, edit))


def _line_of_optimizer(file: File, loop: Loop, optimizer: cst.BaseExpression) -> cst.SimpleStatementLine | None:
    """The statement that makes the optimizer, if it stands before the loop, in its block: the scaler goes beside it."""
    values = list(file.roles.values(optimizer))
    line = file.editor.statement(values[0]) if len(values) == 1 else None
    if not isinstance(line, cst.SimpleStatementLine) or file.editor.block(line) is not file.editor.block(loop):
        return None
    return line if file.tree.span(line) < file.tree.span(loop) else None


def _is_half(file: File, call: cst.Call) -> bool:
    region = file.contexts.of(call)
    return region is not None and region.lowers and region.dtype == "float16"


def _device(file: File, regions: Sequence[cst.Call], before: int, loop: Loop) -> str:
    """The device type of all regions as an argument; empty where it is not one, or has no name before the loop."""
    found = {region.device for call in regions if (region := file.contexts.of(call)) is not None}
    if len(found) != 1:
        return ""
    [device] = found
    if device != "?":
        return quoted(file, device)
    arguments = [keyword(call, "device_type") or next(iter(call.args), None) for call in regions]
    given = [argument.value for argument in arguments if argument is not None]
    texts = {file.tree.text(each) for each in given}
    return texts.pop() if len(texts) == 1 and _is_available(file, given[0], before, loop) else ""


def _enabled(file: File, regions: Sequence[cst.Call], before: int, loop: Loop) -> str:
    """The flag that switches the only region on and off; empty where there is none, or not before the loop."""
    if len(regions) != 1:
        return ""
    given = keyword(regions[0], "enabled")
    flag: cst.BaseExpression | None = given.value if given is not None else None
    below: cst.CSTNode = regions[0]
    for above in file.tree.ancestors(below) if given is None else ():
        if above is loop:
            break
        if isinstance(above, cst.If) and below is above.body and hazard_calls.asks_for_amp(file, above):
            flag = above.test
        below = above
    text = file.tree.text(flag) if flag is not None else ""
    return text if flag is not None and text != "True" and _is_available(file, flag, before, loop) else ""


def _choice_of(file: File, region: cst.Call) -> cst.IfExp | None:
    """The conditional expression that a region is one side of: `autocast("cuda") if use_amp else nullcontext()`."""
    above = file.tree.parent(region)
    return above if isinstance(above, cst.IfExp) and region is not above.test else None


def _chosen_by(file: File, regions: Sequence[cst.Call], before: int, loop: Loop) -> str | None:
    """The test that chooses the only region, which has no flag of its own; None where it cannot stand before the loop.

    A scaler for "cuda" is off on other machines and does no harm in float32; one for a device of any type scales on a CPU.
    """
    choice = _choice_of(file, regions[0]) if len(regions) == 1 else None
    if choice is None or regions[0] is not choice.body or keyword(regions[0], "enabled") is not None:
        return None
    read = [each for each in file.tree.inside(choice.test, cst.Name) if not is_label(file, each)]
    said = not file.tree.inside(choice.test, cst.Call) and all(_is_available(file, name, before, loop) for name in read)
    return file.tree.text(choice.test) if said else None


def _is_available(file: File, expression: cst.BaseExpression, before: int, loop: Loop) -> bool:
    """Whether a name or attribute means the same before the loop as inside it."""
    root = expression
    while isinstance(root, cst.Attribute):
        root = root.value
    if not isinstance(root, cst.Name):
        return False
    home = file.tree.function(loop)
    nodes = [binding.node for binding in file.names.bindings(root.value, loop)]
    inside = [node for node in nodes if node is not None and (home is None or home in file.tree.ancestors(node))]
    together = file.tree.function(expression) is home
    return bool(nodes) and (together or not inside) and all(file.tree.span(node)[0] < before for node in inside)
