"""Classes that a library drives because of what another file makes: what a `Trainer` does around a module of another file.

The file that makes what drives states, as a fact for the whole run, which classes of other files it knows. The file of such a
class is judged as if they were driven; what is found for that alone needs the fact.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

import libcst as cst

from amplint.diagnostics import FLOAT16_TRAINING, MIXED_PRECISION, TRAINING, Diagnostic
from amplint.facts.driven_classes import DrivenClasses
from amplint.facts.driving_facts import drives
from amplint.facts.handed_trainers import HandedTrainers
from amplint.facts.hook_drivers import HookDrivers
from amplint.facts.stated_facts import with_the_place
from amplint.file import File
from amplint.model.libraries import told_in
from amplint.model.torch.names import GRAD_SCALER
from amplint.syntax.classes import ClassInfo


def stated(file: File) -> frozenset[str]:
    """The facts that a file states because of what it makes: of a library that trains in float16, or hooks for its scaler; of
    what its classes do, which others may drive, or be handed; and where it uses mixed precision itself, or trains in it."""
    own = with_the_place(file, file.says & {MIXED_PRECISION, TRAINING}, file.mixed_precision)
    if FLOAT16_TRAINING in file.says:
        own |= with_the_place(file, {FLOAT16_TRAINING}, file.float16_training)
    own |= file.fact(DrivenClasses).stated | file.fact(HandedTrainers).stated
    calling_back = file.fact(HookDrivers).stated | own
    if not told_in(file.source.text.encode()):
        return calling_back
    made = next((call for call in file.tree.find(cst.Call) if _scales(file, file.classes.instance_of(call))), None)
    trains = frozenset({MIXED_PRECISION, FLOAT16_TRAINING}) if made is not None else frozenset[str]()
    return calling_back | _driven(file) | trains | with_the_place(file, trains, made)


def _scales(file: File, info: ClassInfo | None) -> bool:
    """Whether a class is one of a library, and has a scaler of its own."""
    if info is None:
        return False
    values = (each for base in info.lineage for values in base.attributes.values() for each in values)
    scaler = any(isinstance(each, cst.Call) and file.names.any_in(each.func, GRAD_SCALER) for each in values)
    return scaler and file.tree.home(info.node).source.path.endswith(".pyi")


def _driven(file: File) -> frozenset[str]:
    """The facts about the classes of other files that are driven because of what a file makes."""
    own = file.tree.module
    bases = (base for info in _known(file) if file.classes.libraries.driven(info) for base in info.lineage)
    abroad = [base for base in bases if file.tree.root(base.node) is not own]
    paths = {base: file.tree.home(base.node).source.path for base in abroad}
    facts = {fact for base, path in paths.items() for fact in (drives(path), drives(path, base.name))}
    return frozenset(facts) | with_the_place(file, facts, file.classes.libraries.maker)


def _known(file: File) -> Iterator[ClassInfo]:
    """The classes of other files that a file makes objects of, or imports."""
    for call in file.tree.find(cst.Call):
        info = file.classes.instance_of(call)
        if info is not None:
            yield info
    for bindings in file.names.bindings_in(file.tree.module).values():
        for binding in bindings:
            node = file.imports.definition(binding.qualified) if isinstance(binding.node, cst.ImportAlias) else None
            if isinstance(node, cst.ClassDef):
                yield file.classes.of(node)


def needing(file: File, found: Sequence[Diagnostic]) -> list[Diagnostic]:
    """Findings of a file that is taken to be driven, each with the fact that it needs.

    Args:
        file: the file, judged without.
        found: what is found in it besides if it is driven.
    """
    classes = {info: file.range(info.node) for info in file.classes.undriven}
    path = file.source.place.path if file.source.place is not None else ""
    told: list[Diagnostic] = []
    for each in found:
        row = each.range.start.row
        around = [info.name for info, place in classes.items() if place.start.row <= row <= place.end.row]
        fact = drives(str(path), around[-1] if around else "")
        told.append(replace(each, needs=each.needs | {fact}))
    return told
