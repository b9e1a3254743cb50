"""The program: `amplint` and `python -m amplint`."""

import sys

from amplint.system import installed


def main() -> None:
    """Run the program and exit; see `amplint.cli.main`."""
    # Before anything else is imported: even `__future__` may be a file in the current folder.
    sys.path[:] = installed.folders()
    try:
        import signal

        signal.signal(signal.SIGTERM, _end)
        from amplint.cli.main import main as program

        program(prog_name="amplint")
    except KeyboardInterrupt:  # while modules are imported; later the program sees to it
        sys.stderr.write("interrupted\n")
        sys.exit(130)


def _end(number: int, frame: object) -> None:
    """End as after an error, not at once: processes that work for this one are ended, files half written removed."""
    sys.exit(128 + number)


if __name__ == "__main__":
    main()
