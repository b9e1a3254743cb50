"""The help of a command, its options in sections."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeVar

import click

_Function = TypeVar("_Function", bound=Callable[..., Any])
Decorator = Callable[[_Function], _Function]

_SECTION, _OTHERS = "amplint_section", "Other options"


def section(title: str, *options: Decorator[Any]) -> tuple[Decorator[Any], ...]:
    """Options of click that the help lists together.

    Args:
        title: what the section is called.
        *options: what `click.option` gives.
    """

    def within(option: Decorator[Any]) -> Decorator[Any]:
        def decorate(function: Any) -> Any:
            function = option(function)
            vars(function.__click_params__[-1])[_SECTION] = title
            return function

        return decorate

    return tuple(map(within, options))


class OptionalValue(click.Option):
    """An option that stands alone, with an empty value, or takes one behind `=`; the next word is none."""

    def get_help_record(self, ctx: click.Context) -> tuple[str, str] | None:
        """Its name as it may be written, and its help."""
        record = super().get_help_record(ctx)
        return record and (f"{', '.join(self.opts)}[={self.metavar}]", record[1])


class SectionedCommand(click.Command):
    """A command whose help has a section for each `section` of its options, in their order."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments.

        Args:
            ctx: of the command line.
            args: its words.
        """
        alone = {name for param in self.params if isinstance(param, OptionalValue) for name in param.opts}
        last = args.index("--") if "--" in args else len(args)
        return super().parse_args(ctx, [f"{arg}=" if arg in alone else arg for arg in args[:last]] + args[last:])

    def format_options(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """Write the sections."""
        sections: dict[str, list[tuple[str, str]]] = {}
        for param in self.get_params(ctx):
            record = param.get_help_record(ctx) if isinstance(param, click.Option) else None
            if record is not None:
                sections.setdefault(vars(param).get(_SECTION, _OTHERS), []).append(record)
        sections[_OTHERS] = sections.pop(_OTHERS, [])  # last
        for title, rows in sections.items():
            with formatter.section(title):
                formatter.write_dl(rows)
