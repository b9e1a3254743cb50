"""Arguments of `torch.amp` given by position land in the wrong parameter.

What it does: placeholder.
"""

from __future__ import annotations

from collections.abc import Iterator

import libcst as cst

from amplint.diagnostics import Applicability
from amplint.model import torch_api
from amplint.rule import File, Finding, rule


@rule("AMP213", "positional-amp-argument", fix=Applicability.SAFE)
def check(file: File) -> Iterator[Finding]:
    for call in file.tree.find(cst.Call):
        if file.names.all_in(call.func, torch_api.AUTOCAST_GENERIC) and len(call.args) > 1 and call.args[1].keyword is None:
            yield Finding(file.range(call.args[1]), "Placeholder")
