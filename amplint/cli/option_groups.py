"""The options of `amplint check` as click declares them, in the sections of its help; other commands share some."""

from __future__ import annotations

from typing import Any

import click

from amplint.cli import option_values as read
from amplint.cli.completion import complete_formats, complete_rules
from amplint.cli.help import Decorator, OptionalValue, section
from amplint.cli.options import TIMEOUT
from amplint.cli.outputs import outputs
from amplint.engine.config_values import SEVERITIES
from amplint.engine.severity import INFO
from amplint.report import FORMATS
from amplint.runtime.device_names import AUTO, CHOICES


def _rule_list(name: str, said: str) -> Decorator[Any]:
    """An option that takes rules, also several times; `said` is its help."""
    return click.option(
        name, multiple=True, metavar="RULES", callback=read.rule_words, shell_complete=complete_rules, help=said
    )


def _reason(name: str, said: str) -> Decorator[Any]:
    """An option that may be given a reason; `said` is its help."""
    return click.option(name, cls=OptionalValue, metavar="REASON", callback=read.reason_given, help=said)


def _least_severity(name: str, said: str) -> Decorator[Any]:
    """An option that takes the least severity that counts; `said` is its help."""
    return click.option(name, type=click.Choice(SEVERITIES), default=INFO, show_default=True, help=said)


FIXING = section(
    "Fixing",
    click.option("--fix/--no-fix", help="Apply the safe fixes, and report what remains."),
    click.option("--fix-only", is_flag=True, help="Apply the safe fixes; what remains is not reported, and no error."),
    click.option(
        "--unsafe-fixes/--no-unsafe-fixes",
        help="Count in unsafe fixes: with --fix they are applied, without shown.",
    ),
    _rule_list("--fixable", "Apply fixes of these rules only."),
    _rule_list("--unfixable", "Apply no fixes of these rules."),
    click.option(
        "--verify", is_flag=True, help="With --fix or --diff: only fixes that a replay on this device confirms."
    ),
    click.option("--diff", is_flag=True, help="Write nothing; show what --fix would change."),
    click.option("--show-fixes", is_flag=True, help="With --fix or --diff: list the fixes by file."),
    _reason("--add-noqa", "Write `# noqa: CODE` beside each finding, REASON behind it, and report what remains."),
    _reason("--add-ignore", "The same with `# amplint: ignore[NAME]`, for amplint alone."),
)

SHOWING = section(
    "Instead of findings",
    click.option("--show-files", is_flag=True, help="List the files that would be checked, and check none."),
    click.option("--show-settings", is_flag=True, help="Show the settings of these files, and check none."),
)
"""What to show instead of findings."""

REPLAY = section(
    "Replaying fixes",
    click.option(
        "--device",
        type=click.Choice(CHOICES),
        default=AUTO,
        show_default=True,
        help="What fixes are replayed on; auto: the strongest that is there.",
    ),
    click.option(
        "--seed",
        type=click.IntRange(0, 2**32 - 1),
        default=0,
        show_default=True,
        help="Of the models and data that are replayed with.",
    ),
    click.option(
        "--timeout",
        type=click.FloatRange(0, min_open=True),
        metavar="SECONDS",
        callback=read.seconds,
        default=TIMEOUT,
        show_default=True,
        help="What one replay may take of processor time.",
    ),
)
"""How fixes are replayed."""

SELECTION = section(
    "What to look at, and for what",
    _rule_list("--select", "Run these rules only."),
    _rule_list("--ignore", "Leave these rules out."),
    _rule_list("--extend-select", "Run these rules, too."),
    click.option(
        "--per-file-ignores",
        multiple=True,
        metavar="PATTERN:RULES",
        callback=read.per_file_ignores,
        help="Leave rules out of the files that match.",
    ),
    click.option(
        "--exclude",
        multiple=True,
        metavar="PATTERNS",
        callback=read.comma_list,
        help="Leave out these files and folders, in the manner of .gitignore.",
    ),
    click.option(
        "--torch-version",
        metavar="X.Y",
        callback=read.oldest_torch_version,
        help="The oldest PyTorch the project supports.",
    ),
    click.option(
        "--config",
        multiple=True,
        type=read.WholeText(),
        metavar="FILE|TOML",
        callback=read.given_settings,
        envvar="AMPLINT_CONFIG",
        show_envvar=True,
        help="The pyproject.toml or amplint.toml for all files, or a setting: 'torch-version = \"2.4\"'.",
    ),
    click.option("--ignore-noqa", is_flag=True, help="Report what comments suppress, too."),
    click.option(
        "--respect-gitignore/--no-respect-gitignore",
        default=None,
        help="Whether to leave out what git ignores; as the settings say by default.",
    ),
    click.option("--isolated", is_flag=True, help="Look at no configuration file."),
    _least_severity("--min-severity", "Leave out the rules whose findings are less bad than this."),
)
"""What to look at, and for what."""

REPORTING = "Report and exit code"
"""The section of the options of reports."""

REPORT = section(
    REPORTING,
    click.option(
        "--output-format",
        "outputs",
        multiple=True,
        metavar="FORMAT[=FILE]",
        callback=outputs,
        shell_complete=complete_formats,
        envvar="AMPLINT_OUTPUT_FORMAT",
        show_envvar=True,
        help=f"The form of the report, and its file; may be given several times. One of {', '.join(FORMATS)}. "
        "Default: full on a terminal, concise elsewhere.",
    ),
    click.option("--statistics", is_flag=True, help="Report how often each rule found something, instead of what."),
    _least_severity("--fail-on", "Exit with 1 only if a finding is this bad or worse."),
    click.option("-e", "--exit-zero", is_flag=True, help="Exit with 0 even if there are findings."),
    click.option("--exit-non-zero-on-fix", is_flag=True, help="Exit with 1 even if all findings were fixed."),
)

_OUTPUT_FILE = click.option(
    "-o",
    "--output-file",
    metavar="FILE",
    callback=read.report_file,
    envvar="AMPLINT_OUTPUT_FILE",
    show_envvar=True,
    help="Write the report to a file; - is stdout.",
)

RUN = (
    *section(REPORTING, _OUTPUT_FILE),
    *section(
        "The run",
        click.option(
            "-j", "--jobs", type=click.IntRange(0), default=0, help="Processes to use; 0: one for each processor."
        ),
        click.option(
            "-n",
            "--no-cache",
            is_flag=True,
            envvar="AMPLINT_NO_CACHE",
            show_envvar=True,
            help="Neither read nor write the cache.",
        ),
        click.option(
            "--cache-dir",
            metavar="FOLDER",
            callback=read.as_path,
            envvar="AMPLINT_CACHE_DIR",
            show_envvar=True,
            help="Where the cache lies.",
        ),
        click.option(
            "--stdin-filename",
            metavar="PATH",
            help="What to call the text that is read from `-`, which need not be named then.",
        ),
        click.option("-q", "--quiet", is_flag=True, help="No summary, no progress."),
        click.option("-v", "--verbose", is_flag=True, help="Say more about the run."),
        click.option(
            "--color",
            type=click.Choice(["auto", "always", "never"]),
            default="auto",
            show_default=True,
            help="When to use colours.",
        ),
    ),
)
"""How to go about it."""

TEAM = section(
    "What is new",
    click.option(
        "--baseline",
        metavar="FILE",
        callback=read.as_file,
        help="Neither report nor fix the findings that this file knows.",
    ),
    click.option(
        "--update-baseline", is_flag=True, help="Write all findings to the baseline; those that are fixed go."
    ),
    click.option("--since", metavar="REVISION", help="Only findings on lines that have changed since a git revision."),
    click.option(
        "--shard",
        metavar="I/N",
        callback=read.shard,
        help="Only the I-th of N parts of the files; see `merge`.",
    ),
)
"""Which of the findings are new."""

TEXT_OR_JSON = click.option(
    "--output-format", type=click.Choice(["text", "json"]), default="text", show_default=True, help="The form."
)
"""For commands that tell what amplint knows."""

WATCHING = section(
    "The run",
    click.option("-w", "--watch", is_flag=True, help="Check again whenever a file changes, until Ctrl-C."),
)


PROGRAM = (
    click.option("-m", "is_module", is_flag=True, help="SCRIPT is the name of a module."),
    click.argument("script"),
    click.argument("arguments", nargs=-1, type=click.UNPROCESSED),
)
"""A program of the user's, for commands that run one."""

ANY_ARGUMENTS = {"ignore_unknown_options": True, "allow_interspersed_args": False}
"""How click reads what follows the script: it is the script's own, options and all."""


def with_options(*options: Decorator[Any]) -> Decorator[Any]:
    """Give a click command options, listed in this order by its help."""

    def decorate(command: Any) -> Any:
        for option in reversed(options):
            command = option(command)
        return command

    return decorate
