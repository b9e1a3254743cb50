"""`python -m amplint`."""

from __future__ import annotations

from amplint.cli.main import main

main(prog_name="amplint")
