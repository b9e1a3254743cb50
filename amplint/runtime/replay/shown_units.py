"""In which power of the loss scale a function shows what it computes of gradients and scaled losses, clips, and steps.

Right is none; a clip may have that of its gradients. A walk knows how large a gradient is that is read, and not what is
computed of it, nor what a function does to gradients by hand. Here the powers are followed through the statements of a function,
in their order: a gradient behind a scaled backward pass has one, a norm has that of its gradient, its square two, and what is
divided by the scale one less. What is not known tells nothing.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator, Sequence
from fractions import Fraction

from amplint.python_ast.definitions import around

_GRAD = ".grad"
_KEEPS = frozenset(
    "norm abs sum item max min mean float double cpu detach flatten view reshape clone tolist stack cat tensor vector_norm "
    "list sorted linalg data clip_grad_norm_ get_total_norm numpy".split()
)
"""What gives back something in the unit of what it is given, or called on."""
_POWERS = {"square": Fraction(2), "sqrt": Fraction(1, 2)}
_NONE = Fraction(0)
_Power = Fraction | None
"""The power of the loss scale in a value; None for what is not known."""


def wrong_units(text: str, row: int) -> list[str]:
    """The calls in a function that are handed a gradient, or a scaled loss, times a power of the loss scale, in words.

    Args:
        text: a file.
        row: one in the function.
    """
    return list(dict.fromkeys(_Function().read(_statements_around(text, row))))


def wrong_gradients(text: str, row: int) -> list[str]:
    """The clips in a function by a limit with another power of the loss scale in it than the gradients have, and the steps on
    gradients that it has changed by hand, and that have one, in words.

    Args:
        text: a file.
        row: one in the function.
    """
    function = _Function()
    for _ in function.read(_statements_around(text, row)):
        pass
    # Of several optimizers, nobody knows whose gradients were changed by hand.
    steps = function.wrong_steps if len(function.stepped) == 1 else []
    return list(dict.fromkeys([*function.wrong_limits, *steps]))


def _statements_around(text: str, row: int) -> list[ast.stmt]:
    """The statements of the function that a row lies in, or of all the file."""
    home = around(text, row)
    rows = range(home.first, home.last + 1) if home is not None else range(1, text.count("\n") + 2)
    return [each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.stmt) and each.lineno in rows]


class _Function:
    """Goes through statements, with the powers of names and of gradients."""

    def __init__(self) -> None:
        self._powers: dict[str, _Power] = {}
        self._by_hand = self._unscaled = False
        self.wrong_limits: list[str] = []
        self.wrong_steps: list[str] = []
        self.stepped: set[str] = set()
        """The optimizers that are stepped, as they are written."""

    def read(self, statements: Sequence[ast.stmt]) -> Iterator[str]:
        for statement in sorted(statements, key=lambda each: (each.lineno, each.col_offset)):
            yield from self._statement(statement)

    def _statement(self, statement: ast.stmt) -> Iterator[str]:
        match statement:
            case ast.Assign(targets=[target], value=value) if _is_gradient(target):
                self._change(self.power(value))
            case ast.AugAssign(target=target, op=op, value=value) if _is_gradient(target):
                self._multiply(value, isinstance(op, ast.Mult), isinstance(op, ast.Div))
            case ast.Assign(targets=[target], value=value):
                self._act(value)
                self._powers[ast.unparse(target)] = self.power(value)
            case ast.AugAssign(target=ast.Name(id=name), op=ast.Add(), value=value):
                self._powers[name] = self.power(value)
            case ast.AugAssign():
                self._powers[ast.unparse(statement.target)] = None
            case ast.Expr(value=ast.Call() as call) if not self._act(call):
                handed = [*call.args, *(each.value for each in call.keywords)]
                handed = [part for each in handed for part in (each.values if isinstance(each, ast.Dict) else [each])]
                for power in filter(None, map(self.power, (each for each in handed if not _is_gradient(each)))):
                    yield f"`{ast.unparse(call)}` with the loss scale to the power of {power} in it"

    def _act(self, value: ast.expr) -> bool:
        """What an expression does to gradients; returns whether it does anything."""
        acted = False
        for call in [each for each in ast.walk(value) if isinstance(each, ast.Call)]:
            name, on = _name(call), getattr(call.func, "value", None)
            is_scalers = name in ("unscale_", "step", "update") and _is_scaler(on)
            is_change = on is not None and _is_gradient(on) and name in ("mul_", "div_")
            acted = acted or is_scalers or is_change or name in ("backward", "clip_grad_norm_")
            if name == "backward" and on is not None:
                self._powers[_GRAD] = self.power(on)
                self._by_hand = self._unscaled = False
            elif name in ("clip_grad_norm_", "clip_grad_value_"):
                self._clip(call)
            elif is_change and call.args:
                self._multiply(call.args[0], name == "mul_", name == "div_")
            elif name == "step" and (is_scalers or "opt" in ast.unparse(call.func).lower()):
                self._step(call, is_scalers)
            elif is_scalers and name == "unscale_":
                self._unscale()
        return acted

    def _change(self, power: _Power) -> None:
        """Gradients are changed by hand."""
        self._powers[_GRAD], self._by_hand = power, True

    def _multiply(self, factor: ast.expr, is_product: bool, is_quotient: bool) -> None:
        """Gradients are multiplied by hand, divided, or changed in another way."""
        known, by = self._powers.get(_GRAD), self.power(factor)
        is_known = known is not None and by is not None and (is_product or is_quotient)
        self._change((known or _NONE) + (by or _NONE) * (1 if is_product else -1) if is_known else None)

    def _unscale(self) -> None:
        """A scaler divides the gradients, once in an iteration; where nothing else has, it knows what makes them right."""
        known = self._powers.get(_GRAD)
        once_more = self._by_hand and not self._unscaled
        self._powers[_GRAD] = _NONE if not once_more else None if known is None else known - 1
        self._unscaled = True

    def _step(self, call: ast.Call, is_scalers: bool) -> None:
        """Optimizers step, and those that a scaler steps on gradients that it divides, unless it has done so."""
        self.stepped.add(ast.unparse(call.args[0] if is_scalers and call.args else call.func))
        if is_scalers and not self._unscaled:
            self._unscale()
        power = self._powers.get(_GRAD)
        if self._by_hand and power:
            self.wrong_steps.append(
                f"`{ast.unparse(call)}` on gradients with the loss scale to the power of {power} in them"
            )
        if is_scalers and not self._by_hand:
            self._powers[_GRAD] = _NONE

    def _clip(self, call: ast.Call) -> None:
        """Gradients are clipped by a limit."""
        named = [each.value for each in call.keywords if each.arg in ("max_norm", "clip_value")]
        limits = [self.power(each) for each in (*call.args[1:2], *named)]
        mine = self._powers.get(_GRAD)
        if limits and limits[0] and mine is not None and limits[0] != mine:
            words = f"`{ast.unparse(call)}` by a limit with the loss scale to the power of {limits[0]} in it"
            self.wrong_limits.append(words)

    def power(self, node: ast.expr) -> _Power:
        """The power of the loss scale in an expression."""
        match node:
            case ast.Constant():
                return Fraction(0)
            case ast.Attribute(attr="grad"):
                return self._powers.get(_GRAD)
            case ast.Attribute(attr="data", value=value) | ast.Subscript(value=value):
                return self.power(value)
            case ast.Name(id=name):
                return self._powers.get(name)
            case ast.GeneratorExp(elt=each) | ast.ListComp(elt=each):
                return self.power(each)
            case ast.List(elts=[first, *_]) | ast.Tuple(elts=[first, *_]):
                return self.power(first)
            case ast.UnaryOp(operand=operand):
                return self.power(operand)
            case ast.BinOp():
                return self._of_arithmetic(node)
            case ast.Call():
                return self._of_call(node)
        return None

    def _of_arithmetic(self, node: ast.BinOp) -> _Power:
        left, right = self.power(node.left), self.power(node.right)
        if isinstance(node.op, ast.Pow):
            return _times(left, node.right)
        if left is None or right is None:
            return None
        if isinstance(node.op, (ast.Add, ast.Sub)):
            return left or right
        if not isinstance(node.op, (ast.Mult, ast.Div)):
            return None
        return left + right if isinstance(node.op, ast.Mult) else left - right

    def _of_call(self, call: ast.Call) -> _Power:
        name = _name(call)
        on = call.func.value if isinstance(call.func, ast.Attribute) else None
        if name == "get_scale":
            return Fraction(1)
        if name == "scale" and call.args:
            return (self.power(call.args[0]) or Fraction(0)) + 1
        if name == "clip_grad_norm_":
            return self._powers.get(_GRAD)
        given = self.power(on) if on is not None else None
        if given is None and call.args:
            on, given = None, self.power(call.args[0])
        if name == "pow":
            return _times(given, call.args[-1]) if call.args else None
        if name in _POWERS and given is not None:
            return given * _POWERS[name]
        return given if name in _KEEPS else None


def _times(power: _Power, exponent: ast.expr) -> _Power:
    if power is None or not (isinstance(exponent, ast.Constant) and isinstance(exponent.value, (int, float))):
        return None
    return power * Fraction(exponent.value)


def _name(call: ast.Call) -> str:
    return call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "")


def _is_gradient(node: ast.expr) -> bool:
    """Whether an expression is nothing but a gradient, of which others may make anything."""
    return ast.unparse(node).removesuffix(".data").endswith(_GRAD)


def _is_scaler(node: ast.AST | None) -> bool:
    return node is not None and "scaler" in ast.unparse(node).lower()
