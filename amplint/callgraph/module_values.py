"""What code asks modules for by names that it makes: `getattr(models, name)`, `importlib.import_module(f"models.{name}").Net`."""

from __future__ import annotations

import ast
from abc import ABC
from collections.abc import Iterator
from pathlib import Path

from amplint.callgraph import module_objects
from amplint.callgraph.assigned_values import spelling_of
from amplint.callgraph.definitions import Scope
from amplint.callgraph.given_texts import GivenTexts
from amplint.callgraph.named_values import Held, NamedValues

MAX_HOPS = 8
"""Through so many names and functions an expression is followed."""


class ModuleValues(NamedValues, ABC):
    """Follows what modules are asked for."""

    _texts: GivenTexts

    def _of_module(self, path: Path, module: ast.expr, name: ast.expr, scope: Scope, hops: int) -> Iterator[Held]:
        """What a name of a module may stand for, or, where no literal says which, any that it offers."""
        source = module_objects.module_meant(self.definitions, path, module, scope)
        if source is None and isinstance(module, ast.Name) and hops <= MAX_HOPS:
            for each in self._assigned(path, module.id, scope):
                if not isinstance(each.value, ast.Name):
                    yield from self._of_module(path, each.value, name, each.scope, hops + 1)
        elif source is not None and isinstance(name, ast.Constant):
            found = self.definitions.find(source, str(name.value))
            yield from (Held(found),) if found is not None else ()
        elif source is not None:
            found_there = module_objects.offered(self.definitions, source, name)
            yield from (Held(each, registry=(source, "*")) for each in found_there)
        elif isinstance(module, ast.Call) and module.args and spelling_of(module.func).endswith("import_module"):
            yield from self._of_module_named(path, module.args[0], name, scope)

    def _of_module_named(self, path: Path, text: ast.expr, name: ast.expr, scope: Scope) -> Iterator[Held]:
        """What a name may stand for in the modules that a text may name: where no literal says it, what is called like them."""
        text = self._texts.filled(text, scope)
        given = [each.value for each in self._assigned(path, text.id, scope)] if isinstance(text, ast.Name) else [text]
        given = [self._texts.filled(each, scope) for each in given]
        files = dict.fromkeys(
            file for each in given for file in module_objects.named_by_text(self.definitions, path, each)
        )
        for file in files:
            found = module_objects.offered(self.definitions, file, name)
            if len(files) > 1 and not isinstance(name, ast.Constant):
                found = module_objects.called_like_their_module(found, file)
            yield from (Held(each, registry=(next(iter(files)), "*") if len(files) > 1 else None) for each in found)
