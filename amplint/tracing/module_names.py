"""What modules, their parameters and their buffers are called, as far as a program has called the modules."""

from __future__ import annotations

import weakref

import torch


class ModuleNames:
    """The names of modules and of what they own.

    Attributes:
        parameters: the names of parameters, by id.
    """

    def __init__(self) -> None:
        self.parameters: dict[int, str] = {}
        self._paths: weakref.WeakKeyDictionary[torch.nn.Module, str] = weakref.WeakKeyDictionary()

    def path(self, module: torch.nn.Module) -> str:
        """Where a module stands: the class of the outermost one, then the names of attributes."""
        return self._paths.get(module, type(module).__name__)

    def of(self, tensor: torch.Tensor) -> str:
        """The path of a parameter or buffer of the modules that were called, also of a view of it; empty for other tensors."""
        tensor = tensor if tensor._base is None else tensor._base
        for module, path in self._paths.items():
            for owned in (module._parameters, module._buffers):
                for name, one in owned.items():
                    if one is tensor:
                        return f"{path}.{name}"
        return ""

    def name_all(self, root: torch.nn.Module) -> None:
        """Name a module and those inside it, unless they have names."""
        if root in self._paths:
            return
        name = type(root).__name__
        for path, module in root.named_modules():
            self._paths.setdefault(module, f"{name}.{path}" if path else name)
        for path, parameter in root.named_parameters():
            self.parameters.setdefault(id(parameter), f"{name}.{path}")
