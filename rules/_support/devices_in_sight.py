"""The devices and device types that code at hand runs on."""

from __future__ import annotations

import libcst as cst

from amplint.model.torch import names as torch_names
from amplint.rule import File

from .call_edits import in_format_string, quoted
from .value_kinds import DEVICE, device_texts, kind


def known_device_types(file: File) -> set[str]:
    """The device types that the file names where it uses AMP, or moves something to a device."""
    found: set[str] = set()
    for name, device in {**torch_names.AUTOCAST_DEVICE, **torch_names.GRAD_SCALER_DEVICE}.items():
        found |= {device for _ in file.names.references({name})}
    generic = torch_names.AUTOCAST_GENERIC | torch_names.GRAD_SCALER_GENERIC
    for call in file.tree.find(cst.Call):
        first = call.args[0].value if call.args else None
        moved = call.func.attr.value if isinstance(call.func, cst.Attribute) else ""
        if moved == "cuda" and not file.names.resolve(call.func) & {"torch.cuda"}:
            found.add("cuda")
        elif first is not None and (moved == "to" or file.names.all_in(call.func, generic | {"torch.device"})):
            found |= {text.rstrip(":") for text in device_texts(file, first) or () if moved != "to" or text != "cpu"}
    return found


def device_in_sight(file: File, at: cst.CSTNode) -> str | None:
    """The device type that code at `at` runs on, as an expression; None where the file leaves a doubt about it."""
    devices, types = _devices_in_sight(file, at), known_device_types(file)
    if len(devices) == 1:
        return f"{devices[0]}.type"
    return quoted(file, *types) if len(types) == 1 and not devices and not in_format_string(file, at) else None


def _devices_in_sight(file: File, at: cst.CSTNode) -> list[str]:
    """The names that surely hold a `torch.device` there."""
    found: list[str] = []
    for name, bindings in file.names.visible(at):
        values = [each.value for each in bindings]
        before = all(
            each.node is not None and file.tree.span(each.node)[0] < file.tree.span(at)[0] for each in bindings
        )
        if values and before and all(value is not None and kind(file, value) == DEVICE for value in values):
            found.append(name)
    return found
