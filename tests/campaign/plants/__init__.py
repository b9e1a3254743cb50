"""The plants, by what they are about. Each module here is loaded, so that its plants are known."""

from __future__ import annotations

import importlib
import pkgutil

for module in pkgutil.iter_modules(__path__):
    importlib.import_module(f"{__name__}.{module.name}")
