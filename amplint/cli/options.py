"""What a command was asked to do: a field for each option of `amplint check`, of which other commands share some."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, TextIO

from amplint.cli.option_values import GivenSettings
from amplint.cli.outputs import Output
from amplint.diagnostics import Diagnostic
from amplint.engine.config import Overrides
from amplint.engine.severity import INFO, is_at_least, severity
from amplint.model.records import NamedTuple
from amplint.runtime.device_names import AUTO

if TYPE_CHECKING:
    from amplint.engine.shards import Shard

STDIN = "-"
"""What stands for standard input among the paths."""

TIMEOUT = 60.0
"""Seconds of processor time that one replay may take, unless told otherwise."""


class Options(NamedTuple):
    """What `amplint check` was asked to do; a field for each option."""

    paths: tuple[str, ...] = ()
    fix: bool = False
    fix_only: bool = False
    unsafe_fixes: bool = False
    verify: bool = False
    device: str = AUTO
    seed: int = 0
    timeout: float = TIMEOUT
    trust: bool = False
    diff: bool = False
    show_fixes: bool = False
    fixable: tuple[str, ...] = ()
    unfixable: tuple[str, ...] = ()
    add_noqa: str | None = None
    add_ignore: str | None = None
    show_files: bool = False
    show_settings: bool = False
    select: tuple[str, ...] = ()
    ignore: tuple[str, ...] = ()
    extend_select: tuple[str, ...] = ()
    per_file_ignores: tuple[tuple[str, tuple[str, ...]], ...] = ()
    exclude: tuple[str, ...] = ()
    torch_version: tuple[int, int] | None = None
    config: GivenSettings = GivenSettings()
    ignore_noqa: bool = False
    respect_gitignore: bool | None = None
    isolated: bool = False
    min_severity: str = INFO
    output_format: str = ""
    outputs: tuple[Output, ...] = ()
    fail_on: str = INFO
    output_file: Path | None = None
    statistics: bool = False
    exit_zero: bool = False
    exit_non_zero_on_fix: bool = False
    jobs: int = 0
    no_cache: bool = False
    cache_dir: Path | None = None
    stdin_filename: str | None = None
    quiet: bool = False
    verbose: bool = False
    color: str = "auto"
    baseline: Path | None = None
    update_baseline: bool = False
    since: str | None = None
    shard: Shard | None = None
    watch: bool = False

    @property
    def adds_comments(self) -> bool:
        """Whether findings are to be suppressed."""
        return self.add_noqa is not None or self.add_ignore is not None

    @property
    def reason(self) -> str:
        """Why findings are suppressed; empty where nobody says."""
        return self.add_noqa or self.add_ignore or ""

    @property
    def reads_stdin(self) -> bool:
        """Whether standard input is checked: it is named, or nothing is and it has a name."""
        return STDIN in self.paths or (self.stdin_filename is not None and not self.paths)

    @property
    def stream(self) -> TextIO:
        """Where a report without a file goes: where stdin is fixed, its text has standard output for itself."""
        return sys.stderr if (self.fix or self.adds_comments) and self.reads_stdin else sys.stdout

    def fails(self, diagnostics: Iterable[Diagnostic]) -> bool:
        """Whether one of the findings is bad enough for exit code 1."""
        return any(is_at_least(severity(one), self.fail_on) for one in diagnostics)

    @property
    def overrides(self) -> Overrides:
        """What is said here about settings."""
        return Overrides(
            self.select or None, self.extend_select, self.ignore, self.per_file_ignores or None, self.exclude,
            self.torch_version, self.fixable, self.unfixable, self.ignore_noqa, self.respect_gitignore, self.min_severity,
            self.config.inline,
        )  # fmt: skip
