"""The tests on every supported Python that is installed, with and without PyTorch: `nox`, `nox -s checks`."""

from __future__ import annotations

import nox

nox.options.error_on_missing_interpreters = False
nox.options.reuse_existing_virtualenvs = True


@nox.session(python=["3.10", "3.11", "3.12", "3.13"])
@nox.parametrize("extras", ["test", "test,trace"], ids=["without torch", "with torch"])
def tests(session: nox.Session, extras: str) -> None:
    """All tests, from the checkout."""
    session.install("-c", "constraints.txt", "-e", f".[{extras}]")
    session.run("python", "-m", "pytest", *session.posargs)


@nox.session
def checks(session: nox.Session) -> None:
    """Style, types, contracts, generated files."""
    session.install("-c", "constraints.txt", "-e", ".[dev]")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("mypy")
    session.run("lint-imports")
    session.run("python", "scripts/generate.py", "--check")
