"""Options of the test run."""

from __future__ import annotations

import pytest


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--write-fixed", action="store_true", help="write the .fixed.py of the selected fixtures")


@pytest.fixture
def write_fixed(request: pytest.FixtureRequest) -> bool:
    """Whether the `.fixed.py` files are to be written rather than compared."""
    return bool(request.config.getoption("--write-fixed"))
