"""The program `amplint`: `check` is what it does when no command is named."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Sequence
from importlib import import_module
from typing import TYPE_CHECKING, Any

import click

from amplint import __version__
from amplint.cli.completion import complete_files
from amplint.cli.console import FAILED, INTERRUPTED, Unwritable, one_line, open_streams, say
from amplint.cli.help import OptionalValue

if TYPE_CHECKING:
    from click.shell_completion import CompletionItem

COMMANDS = (
    "check", "clean", "config", "explain", "merge", "profile", "report", "rules", "server", "trace", "verify", "version",
)  # fmt: skip
"""Each is a module of this package that holds a click command of the same name."""

_MEANT = {
    "help": "-h", "fix": "check --fix", "lint": "check", "list": "rules", "settings": "config", "rule": "explain",
    "linter": "rules", "--silent": "--quiet", "--show-source": "--output-format",
}  # fmt: skip
"""Words that people try as commands and options, each with what they look for."""

_COMPLETION = (
    """in ~/.bashrc, `eval "$(_AMPLINT_COMPLETE=bash_source amplint)"` completes; docs/settings.md has other shells"""
)
_NEEDLESS = {
    "--force-exclude": "what `--exclude` and the settings exclude is left out also where it is named",
    "--preview": "no rule is in preview; `--extend-select` switches on those that are off by default",
    "--line-length": "code is not laid out, and a fix keeps the author's layout",
    "--all": "`ALL` stands for all rules",
    "format": "code is not laid out; `amplint check --fix` repairs it",
    "generate-shell-completion": _COMPLETION,
    "completion": _COMPLETION,
}
"""Options and commands of other linters, each with why there is none here."""

_OWN_OPTIONS = ("-h", "--help", "-V", "--version")


class CommandGroup(click.Group):
    """A group that imports the command which is called, and no other."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """The names of the commands."""
        return list(COMMANDS)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """The command of that name."""
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = getattr(import_module(f"amplint.cli.{cmd_name}"), cmd_name)
        return command

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Read the arguments; what names no command, before it any options, is meant for `check`.

        Args:
            ctx: of the command line.
            args: its words.
        """
        if ctx.resilient_parsing and not args:
            return super().parse_args(ctx, args)
        if not args or args[0] not in (*COMMANDS, *_OWN_OPTIONS):
            if args and not ctx.resilient_parsing:
                _refuse_unknown(args[0], ctx)
            args = self._command_first(args, ctx)
        return super().parse_args(ctx, args)

    def _command_first(self, args: list[str], ctx: click.Context) -> list[str]:
        """The arguments from the command on, and then the options before it; `check` where none is named."""
        check = self.get_command(ctx, "check")
        assert check is not None
        options = [param for param in check.params if isinstance(param, click.Option)]
        alone = [option for option in options if option.is_flag or option.count or isinstance(option, OptionalValue)]
        valued = {name for option in options if option not in alone for name in option.opts}
        at = 0
        while at < len(args) and args[at].startswith("-") and args[at] not in ("-", "--"):
            at += 2 if args[at] in valued else 1
        if at < len(args) and args[at] in COMMANDS and not os.path.lexists(args[at]):
            return [args[at], *args[:at], *args[at + 1 :]]
        return ["check", *args]

    def shell_complete(self, ctx: click.Context, incomplete: str) -> list[CompletionItem]:
        """What may follow `amplint`: a command, or what may follow `amplint check`."""
        check = self.get_command(ctx, "check")
        assert check is not None
        with click.Context(check, ctx, info_name="check", resilient_parsing=True) as inside:
            # First, or bash would forget the others.
            paths = complete_files(ctx, check.params[0], incomplete)
            return [*paths, *super().shell_complete(ctx, incomplete), *check.shell_complete(inside, incomplete)]

    def main(
        self,
        args: Sequence[str] | None = None,
        prog_name: str | None = None,
        complete_var: str | None = None,
        standalone_mode: bool = True,
        **extra: Any,
    ) -> Any:
        """Run the program and exit: 0 clean, 1 findings, 2 something was not checked, 130 interrupted."""
        if not standalone_mode:
            return super().main(args, prog_name, complete_var, standalone_mode=False, **extra)
        open_streams()
        for stream in (sys.stdout, sys.stderr):
            if hasattr(stream, "reconfigure"):
                # A name that the terminal cannot show is no reason to die.
                stream.reconfigure(errors="backslashreplace")
        try:
            code = super().main(args, prog_name or "amplint", complete_var, standalone_mode=False, **extra)
        except click.UsageError as error:
            say(sys.stderr, f"error: {one_line(_complaint(error))}\n")
            sys.exit(FAILED)
        except (Unwritable, OSError) as error:
            say(sys.stderr, f"error: {one_line(_why(error))}\n")
            sys.exit(FAILED)
        except click.Abort:
            say(sys.stderr, "interrupted\n")
            sys.exit(INTERRUPTED)
        sys.exit(code if isinstance(code, int) else 0)


def _refuse_unknown(word: str, ctx: click.Context) -> None:
    """Raise for a word that is neither a command nor the path of anything, and that no path is likely to be."""
    if not word.replace("-", "").isalpha() or word.startswith("-") or os.path.lexists(word):
        return
    from amplint.engine.nearest import nearest

    if word in _NEEDLESS:
        raise click.UsageError(f"there is no command, file or folder `{word}`: {_NEEDLESS[word]}", ctx)
    meant = _MEANT.get(word)
    near = f"; did you mean `amplint {meant}`?" if meant else nearest(word, list(COMMANDS))
    raise click.UsageError(f"there is no command, file or folder `{word}`{near}", ctx)


def _complaint(error: click.UsageError) -> str:
    """What is wrong with a command line, and what to do: the word that was probably meant, or where all of them are listed."""
    if isinstance(error, click.NoSuchOption) and error.ctx:
        message = f"there is no option `{error.option_name}`{_nearest_option(error.option_name, error.ctx.command)}"
    else:
        message = _without_variable(error)
        message = message if message.endswith("...") else message.removesuffix(".")
    command = error.ctx.command_path if error.ctx else "amplint check"
    return message if message.endswith("?") else f"{message}; see `{command} -h`"


def _without_variable(error: click.UsageError) -> str:
    """The message; it names a variable of the environment only if the value comes from there."""
    message, ctx, param = error.format_message(), error.ctx, getattr(error, "param", None)
    if ctx is None or param is None or ctx.get_parameter_source(param.name) is click.core.ParameterSource.ENVIRONMENT:
        return message
    return re.sub(r" \(env var: '[^)]*'\)", "", message, count=1)


def _nearest_option(name: str, command: click.Command) -> str:
    from amplint.engine.nearest import nearest

    if name in _NEEDLESS:
        return f": {_NEEDLESS[name]}"
    known = [
        option for param in command.params for option in (*param.opts, *param.secondary_opts) if option[:2] == "--"
    ]
    meant = _MEANT.get(name, "")
    return f"; did you mean `{meant}`?" if meant in known else nearest(name, known) if name[:2] == "--" else ""


def _why(error: Exception) -> str:
    """Why nothing more could be done: often because click could not write its help, which Python may find out later."""
    try:
        say(sys.stdout, "")
    except Unwritable as unwritable:
        error = unwritable
    if isinstance(error, FileNotFoundError) and error.filename is None:
        return "the current folder is not there any more"
    if isinstance(error, OSError) and error.filename is None:
        return f"standard output cannot be written: {error.strerror or error}"
    if isinstance(error, OSError) and error.strerror:
        return f"{os.fsdecode(error.filename)}: {error.strerror}"
    return str(error)


@click.group(cls=CommandGroup, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, "-V", "--version", message="amplint %(version)s")
def main() -> None:
    """Find, repair and explain misuse of PyTorch automatic mixed precision.

    `amplint PATHS` is short for `amplint check PATHS`; `amplint check -h` lists the options.
    """
