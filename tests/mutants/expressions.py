"""Mutations of expressions: other objects, conditions, constants, signs, arguments, precisions."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator

from .program_text import Change, ProgramText, callee, dotted

_OPERATORS = {ast.Add: "-", ast.Sub: "+", ast.Mult: "/", ast.Div: "*"}
_COMPARED: dict[type[ast.cmpop], tuple[str, ...]] = {
    ast.GtE: (">", "<"),
    ast.Gt: (">=", "<="),
    ast.LtE: ("<", ">"),
    ast.Lt: ("<=", ">="),
    ast.Eq: ("!=",),
    ast.NotEq: ("==",),
    ast.Is: ("is not",),
    ast.IsNot: ("is",),
}
_NO_TENSORS = frozenset(
    "GradScaler autocast get_scale DataLoader len range enumerate zip iter next item open print load state_dict step zero_grad "
    "parameters train eval to getattr isinstance tqdm register_buffer sum_all get".split()
)
_WORDS = {
    "float16": "bfloat16",
    "half": "bfloat16",
    "bfloat16": "float16",
    "float32": "float16",
    "True": "False",
    "False": "True",
    "cuda": "cpu",
    "cpu": "cuda",
    "mean": "sum",
    "sum": "mean",
    "none": "mean",
}


def other_object(program: ProgramText) -> Iterator[Change]:
    """Another optimizer, model or scaler, which the function uses in the same way."""
    used: dict[tuple[str, object], dict[str, None]] = defaultdict(dict)
    places: list[tuple[tuple[str, object], ast.expr]] = []
    for call in (each for each in program.expressions() if isinstance(each, ast.Call)):
        roles: list[tuple[tuple[str, object], ast.expr]] = [
            ((callee(call), at), arg) for at, arg in enumerate(call.args)
        ]
        if isinstance(call.func, ast.Attribute):
            roles.append(((callee(call), "receiver"), call.func.value))
        for role, node in roles:
            if name := dotted(node):
                used[role][name] = None
                places.append((role, node))
    for role, node in places:
        for name in used[role]:
            if name != dotted(node) and "torch" not in name.split("."):
                yield program.put(f"`{name}` for `{dotted(node)}` at `{role[0]}`", node, name)


def condition(program: ProgramText) -> Iterator[Change]:
    """A condition that always holds, never, or in other cases."""
    for statement in program.statements():
        if isinstance(statement, (ast.If, ast.While)):
            test = program.source(statement.test)
            for other in ("True", "False", f"not ({test})"):
                yield program.put(f"`{other}` for the condition `{test}`", statement.test, other)
    for node in program.expressions():
        if isinstance(node, ast.BoolOp):
            for operand in node.values:
                yield program.put("one condition of several", node, f"({program.source(operand)})")
        elif isinstance(node, ast.Compare) and len(node.ops) == 1:
            left, right = program.source(node.left), program.source(node.comparators[0])
            for sign in _COMPARED.get(type(node.ops[0]), ()):
                yield program.put(f"`{left} {sign} {right}`", node, f"{left} {sign} {right}")
        elif isinstance(node, ast.IfExp):
            for branch in (node.body, node.orelse):
                yield program.put("one branch of two", node, f"({program.source(branch)})")


def arithmetic(program: ProgramText) -> Iterator[Change]:
    """A value multiplied, negated, detached or replaced by one of its operands."""
    for node in _tensors(program):
        text = program.source(node)
        for template in ("({}) * 0.0", "({}) * 2.0", "-({})", "({}).detach()"):
            other = template.format(text)
            yield program.put(f"`{other}`", node, f"({other})")
    for node in program.expressions():
        if isinstance(node, ast.BinOp) and type(node.op) in _OPERATORS:
            left, right = f"({program.source(node.left)})", f"({program.source(node.right)})"
            for other in (left, right, f"{left} {_OPERATORS[type(node.op)]} {right}"):
                yield program.put(f"`{other}` for `{program.source(node)}`", node, f"({other})")
        elif isinstance(node, ast.UnaryOp) and isinstance(node.op, (ast.USub, ast.Not)):
            yield program.put(f"no sign at `{program.source(node)}`", node, f"({program.source(node.operand)})")


def _tensors(program: ProgramText) -> Iterator[ast.expr]:
    """Expressions that are likely tensors: what is run backward, returned, or computed and kept."""
    for node in program.expressions():
        if isinstance(node, ast.Call) and callee(node) == "backward" and isinstance(node.func, ast.Attribute):
            yield node.func.value
        elif isinstance(node, ast.Call) and callee(node) == "scale" and node.args:
            yield node.args[0]
    for statement in program.statements():
        if isinstance(statement, (ast.Return, ast.Assign)) and statement.value is not None:
            value = statement.value
            name = callee(value)
            computed = isinstance(value, ast.BinOp) or (name and name not in _NO_TENSORS and name[0].islower())
            target = statement.targets[0] if isinstance(statement, ast.Assign) else None
            if computed and (target is None or isinstance(target, ast.Name)):
                yield value


def literal(program: ProgramText) -> Iterator[Change]:
    """Another number, truth value, device, precision or reduction."""
    for node in program.expressions():
        if isinstance(node, ast.Constant):
            for other in _others(node.value):
                yield program.put(f"`{other}` for `{program.source(node)}`", node, other)
        elif isinstance(node, ast.Attribute) and node.attr in _WORDS:
            other = f"{program.source(node.value)}.{_WORDS[node.attr]}"
            yield program.put(f"`{other}` for `{program.source(node)}`", node, other)


def _others(value: object) -> Iterator[str]:
    if isinstance(value, bool):
        yield str(not value)
    elif isinstance(value, (int, float)):
        yield "1" if value == 0 else repr(value * 2)
        yield repr(value * 1000) if isinstance(value, float) else repr(value + 1)
    elif isinstance(value, str) and value in _WORDS:
        yield repr(_WORDS[value])


def argument(program: ProgramText) -> Iterator[Change]:
    """An argument is left out, or two change places."""
    for node in program.expressions():
        if not isinstance(node, ast.Call):
            continue
        function = program.source(node.func)
        parts = [program.source(each) for each in node.args]
        named = [
            f"{each.arg}={program.source(each.value)}" if each.arg else f"**{program.source(each.value)}"
            for each in node.keywords
        ]
        every = [*parts, *named]
        for index, left_out in enumerate(every):
            if len(every) > 1:
                rest = ", ".join([*every[:index], *every[index + 1 :]])
                yield program.put(f"`{function}` without `{left_out}`", node, f"{function}({rest})")
        if len(parts) > 1:
            swapped = ", ".join([parts[1], parts[0], *every[2:]])
            yield program.put(f"`{function}` with its arguments swapped", node, f"{function}({swapped})")


def _keyword(program: ProgramText, keyword: ast.keyword) -> str:
    return f"{keyword.arg}=" * bool(keyword.arg) + "**" * (not keyword.arg) + program.source(keyword.value)


def no_amp(program: ProgramText) -> Iterator[Change]:
    """Mixed precision is switched off, for a region, a scaler or all of a loss; or a value is cast."""
    for node in program.expressions():
        if isinstance(node, ast.Call) and callee(node) in ("autocast", "GradScaler"):
            kept = [program.source(each) for each in node.args]
            kept += [_keyword(program, each) for each in node.keywords if each.arg not in ("enabled", None)]
            text = f"{program.source(node.func)}({', '.join([*kept, 'enabled=False'])})"
            yield program.put(f"`{text}`", node, text)
        elif isinstance(node, ast.Call) and callee(node) == "scale" and node.args:
            yield program.put(f"`{program.source(node)}` unscaled", node, program.source(node.args[0]))
        elif isinstance(node, ast.Call) and callee(node) in ("float", "type") and isinstance(node.func, ast.Attribute):
            yield program.put(f"`{program.source(node)}` not cast", node, program.source(node.func.value))
    for node in _tensors(program):
        if callee(node) != "scale":  # the gradient of a cast is a cast, and 1 is 1 in all precisions
            yield program.put(f"`{program.source(node)}` as half", node, f"({program.source(node)}).half()")


EXPRESSIONS = (other_object, condition, arithmetic, literal, argument, no_amp)
