"""Records: values whose fields never change, and of which a run makes millions."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, TypeVar

_Record = TypeVar("_Record")

if TYPE_CHECKING:
    from typing_extensions import dataclass_transform
else:

    def dataclass_transform(**_):
        """Nothing: only type checkers ask."""
        return lambda function: function


@dataclass_transform(frozen_default=True, field_specifiers=(field,))
def frozen(kind: type[_Record]) -> type[_Record]:
    """Make a class a dataclass whose fields never change.

    That they do not is for the type checker to see to: what guards them at run time makes a record several times as slow to make.
    """
    return dataclass(unsafe_hash="__hash__" not in vars(kind))(kind)


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
