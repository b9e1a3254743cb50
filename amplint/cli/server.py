"""`amplint server`: what editors start."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import click
from click.core import ParameterSource

from amplint.cli.console import FAILED, Console, one_line
from amplint.cli.linting import resolver_of
from amplint.cli.option_groups import SELECTION, with_options
from amplint.cli.options import Options
from amplint.engine.config import ConfigError, SettingsResolver
from amplint.engine.registry import RegistryError


@click.command("server", short_help="Run the language server, which editors talk to.")
@with_options(*SELECTION)
def server(**values: Any) -> int:
    """Run the language server (LSP), which editors talk to on the standard streams; see docs/editors.md.

    The options are put over the settings of each project.
    """
    try:
        from amplint.server.stdio import serve
    except ModuleNotFoundError as error:
        Console().problem("", f"the server needs {error.name}: pip install 'amplint[lsp]'")
        return FAILED
    given = Options(**values)

    def read(arguments: Sequence[str]) -> Callable[[], SettingsResolver]:
        options = _with(given, arguments)
        resolver_of(options)  # tells now what is of no use
        return lambda: resolver_of(options)

    try:
        serve(read)
    except (ConfigError, RegistryError) as error:
        Console().problem("", str(error))
    return FAILED


def _with(given: Options, arguments: Sequence[str]) -> Options:
    """The options of the command line, with those that the editor gives in their place.

    Raises:
        ConfigError: these are none.
    """
    try:
        context = server.make_context("server", list(arguments), resilient_parsing=False)
    except (click.UsageError, click.exceptions.Exit) as error:
        why = error.format_message() if isinstance(error, click.UsageError) else "only options are understood"
        raise ConfigError(one_line(why)) from error
    asked = context.get_parameter_source
    options = given._replace(
        **{name: value for name, value in context.params.items() if asked(name) is ParameterSource.COMMANDLINE}
    )
    file = options.config.file
    return options._replace(config=options.config._replace(file=file and file.absolute()))
