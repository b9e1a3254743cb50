"""The process that runs the author's code: takes one order, answers in numbers, and has no other way to speak.

What answers is the author's to forge: it is read as data, and never as more.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import asdict
from typing import Any

import torch

from amplint.model.events import Region
from amplint.runtime.devices import CUDA, EMULATED
from amplint.runtime.emulation.cuda_autocast import cuda_autocast
from amplint.runtime.execution.author_code import AuthorFunction, CannotCall, import_text
from amplint.runtime.execution.call_ways import CallWay, LoweredProducts, Trace
from amplint.runtime.execution.confinement import confine
from amplint.runtime.execution.operands import Settled, operands, settle, sweep_over
from amplint.runtime.execution.running import READY, settled_as_told
from amplint.runtime.execution.system_calls import die_with_parent
from amplint.runtime.execution.target import Parameter
from amplint.runtime.numeric.answer import Evaluation
from amplint.runtime.recording.tensor_facts import dtype_name


def main() -> None:
    """Take the order from standard input, and write the answer where standard output led."""
    die_with_parent()
    order = json.loads(sys.stdin.buffer.read())
    answer = os.dup(1)
    nothing = os.open(os.devnull, os.O_RDWR)
    for stream in range(3):
        os.dup2(nothing, stream)
    torch.set_num_threads(1)
    if order["device"] == CUDA:  # what it opens to begin with, it could not open later
        warm = torch.ones(8, 8, device="cuda", requires_grad=True)
        (warm @ warm).sum().backward()
    os.write(answer, READY)
    confine()
    with cuda_autocast() if order["device"] == EMULATED else nullcontext():
        told = json.dumps(_obeyed(order)).encode()
    while told:
        told = told[os.write(answer, told) :]
    os._exit(0)  # nothing that the author's code may have left for the end


def _obeyed(order: dict[str, Any]) -> dict[str, Any]:
    doing = f"importing `{os.path.basename(order['file'])}`"
    try:
        sys.path[:0] = order["paths"]
        parameters = [Parameter(**each) for each in order["parameters"]]
        with Trace(order["file"]) as trace:
            module = import_text(order["name"], order["file"], order["text"])
            doing = f"making the object of `{order['target']}`"
            function = AuthorFunction(module, order["target"], parameters, order["seed"])
        doing = f"calling `{order['target']}`"
        return _answered(order, function, trace)
    except CannotCall as error:
        return {"problem": str(error)}
    except BaseException as error:  # an exit, too, is the author's
        said = " ".join(f"{type(error).__name__}: {error}".split()).rstrip(": ")
        return {"problem": f"{doing} raises {said[:300]}"}


def _answered(order: dict[str, Any], function: AuthorFunction, trace: Trace) -> dict[str, Any]:
    parameters = function.parameters
    region = Region(**order["region"]) if order["region"] else None
    exact = CallWay(order["device"], precision=torch.float64)
    settled: Settled | str
    if order["settled"]:
        settled = settled_as_told(order["settled"])
    else:
        settled = settle(
            parameters,
            lambda owners, point: function.evaluate(owners, point, exact, _ungraded(parameters)).answer.error,
        )
    if isinstance(settled, str):
        return {"problem": f"`{order['target']}` runs on no small tensors ({settled})"}
    owners = operands(parameters)
    points = sweep_over(owners, settled, order["seed"])
    ways = {
        "amp": CallWay(order["device"], region),
        "exact": exact,
        "plain": CallWay(order["device"], precision=torch.float32),
    }
    with trace, LoweredProducts() as lowered:
        function.evaluate(owners, points.ordinary(), ways["amp"], settled.kinds)
    told: list[dict[str, Any]] = []
    for point in points.points():
        found = {name: function.evaluate(owners, point, way, settled.kinds) for name, way in ways.items()}
        told.append(
            {"at": point.at, "swept": point.swept.text if point.swept is not None else ""}
            | {"dtypes": [dtype_name(each) for each in found["exact"].dtypes]}
            | {"row": found["amp"].row}
            | {name: _plain(result.answer) for name, result in found.items()}
        )
    return {
        "settled": asdict(settled),
        "assumed": function.assumed,
        "rows": sorted(trace.rows),
        "lowered": lowered.count,
        "points": told,
    }


def _ungraded(parameters: Sequence[Parameter]) -> dict[str, str]:
    return {each.text: "" for each in parameters}


def _plain(evaluation: Evaluation) -> dict[str, Any]:
    gradients = [each.tolist() for each in evaluation.gradients]
    return {"value": evaluation.value.tolist(), "gradients": gradients, "error": evaluation.error}
