"""Attributes whose names are texts: `self.add_module("head", Head())`, `setattr(self, name, module)`, and methods whose names are
made of the same text: `getattr(self, f"build_{name}")()`."""

from __future__ import annotations

import ast

_SETTERS = frozenset({"setattr", "add_module", "register_module"})
"""What sets an attribute: a function, and methods of modules."""


def set_attribute(call: ast.Call) -> list[tuple[ast.expr, ast.expr]]:
    """The name and the value of the attribute of `self` that a call sets; nothing for any other call.

    Args:
        call: the call.
    """
    called = call.func.attr if type(call.func) is ast.Attribute else call.func.id if type(call.func) is ast.Name else ""
    if called not in _SETTERS:
        return []
    match call:
        case ast.Call(func=ast.Attribute(value=ast.Name(id="self")), args=[name, value]):
            return [(name, value)]
        case ast.Call(func=ast.Name(), args=[ast.Name(id="self"), name, value]):
            return [(name, value)]
    return []


def own_method_called(value: ast.expr, variable: str, name: str) -> ast.Call | None:
    """The call of a method of `self` whose name is made of a variable: `self.build_head()` of `getattr(self, "build_" + each)()`.

    Args:
        value: the expression.
        variable: the name of the variable.
        name: the text that the variable holds.
    """
    match value:
        case ast.Call(func=ast.Call(func=ast.Name(id="getattr"), args=[ast.Name(id="self") as this, method])):
            called = _filled(method, variable, name)
            if called is not None and called != name:
                return ast.Call(ast.Attribute(this, called, ast.Load()), [], [])
    return None


def _filled(text: ast.expr, variable: str, name: str) -> str | None:
    """The text that an expression makes of a variable which holds a name; None where it needs more."""
    match text:
        case ast.Name(id=read) | ast.FormattedValue(value=ast.Name(id=read)):
            return name if read == variable else None
        case ast.Constant(value=str(written)):
            return written
        case ast.BinOp(left=ast.Constant(value=str(written)), op=ast.Mod(), right=ast.Name(id=read)):
            return written.replace("%s", name) if read == variable and written.count("%") == 1 else None
        case ast.BinOp(left=left, op=ast.Add(), right=right):
            return _joined([left, right], variable, name)
        case ast.JoinedStr(values=parts):
            return _joined(parts, variable, name)
    return None


def _joined(parts: list[ast.expr], variable: str, name: str) -> str | None:
    filled = [_filled(each, variable, name) for each in parts]
    return None if None in filled else "".join(each or "" for each in filled)
