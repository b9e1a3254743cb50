"""Records: values whose fields never change, and of which a run makes millions.

They are cheap to define, too: a run on one clean file defines many of them, and makes few. A dataclass takes up to a
millisecond to define, and a class of `typing.NamedTuple` a third of one.
"""

from __future__ import annotations

from collections import namedtuple
from typing import TYPE_CHECKING, Any, TypeVar

_Record = TypeVar("_Record")

if TYPE_CHECKING:
    from dataclasses import field
    from typing import NamedTuple as NamedTuple

    from typing_extensions import dataclass_transform
else:
    field = None

    def dataclass_transform(**_):
        """Nothing: only type checkers ask."""
        return lambda function: function

    class _NamedTupleClass(type):
        """Makes a class with annotations what `typing.NamedTuple` makes of it, but does not read the annotations."""

        def __new__(cls, name, bases, body):
            """The class."""
            fields = body["__annotations__"]
            defaults = [body.pop(each) for each in fields if each in body]
            made = namedtuple(name, fields, defaults=defaults, module=body["__module__"])
            for each, value in body.items():
                setattr(made, each, value)
            return made

    NamedTuple = type.__new__(_NamedTupleClass, "NamedTuple", (), {})


_PARTS = {
    "__init__": "init", "__repr__": "repr", "__eq__": "eq", "__hash__": "unsafe_hash", "__match_args__": "match_args",
    "__dataclass_params__": "match_args", "__dataclass_fields__": "match_args",
}  # fmt: skip
"""What a dataclass has beyond its text, each with the parameter of `dataclass` that asks for it."""


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(kind: type[_Record]) -> type[_Record]:
    """Make a class a dataclass whose fields never change.

    That they do not is for the type checker to see to: what guards them at run time makes a record several times as slow to make.
    Each part of a dataclass beyond its text is made when it is asked for: most records are never made, or never compared.
    """
    text = dict(vars(kind))
    for name in _PARTS.keys() - text.keys():
        setattr(kind, name, _Unmade(kind, text, name))
    return kind


class _Unmade:
    """Stands for a part of a dataclass that nobody has asked for: the class, its text, and the name of the part."""

    def __init__(self, kind: type, text: dict[str, Any], name: str) -> None:
        self._kind, self._text, self._name = kind, text, name

    def __get__(self, record: object, kind: type) -> Any:
        setattr(self._kind, self._name, self._made())
        return getattr(kind if record is None else record, self._name)

    def _made(self) -> Any:
        """The part, made for a copy of the class."""
        from dataclasses import dataclass

        left_out = ("__dict__", "__weakref__")
        text = {"__doc__": " "} | {name: each for name, each in self._text.items() if name not in left_out}
        copy = type(self._kind)(
            self._kind.__name__, self._kind.__bases__, text | {"__qualname__": self._kind.__qualname__}
        )
        wanted = dict.fromkeys(("init", "repr", "eq", "match_args"), False) | {_PARTS[self._name]: True}
        return vars(dataclass(**wanted)(copy))[self._name]


def changed(old: _Record, **fields: Any) -> _Record:
    """A record with other contents of some fields: what `dataclasses.replace` gives, without a call of the constructor.

    Args:
        old: the record; it stays as it is.
        **fields: the contents, by the names of the fields.
    """
    new = object.__new__(type(old))
    contents, held = new.__dict__, old.__dict__
    for name in old.__dataclass_fields__:  # type: ignore[attr-defined]  # a record is a dataclass
        contents[name] = held[name]  # what else it holds are cached answers, which go by the old fields
    contents.update(fields)
    return new
