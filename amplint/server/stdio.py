"""The server at the standard streams of its process, as editors start it."""

from __future__ import annotations

import os
import sys
import threading

from amplint.server.session import ReadArguments, Session
from amplint.server.worker import Worker


def serve(read: ReadArguments) -> None:
    """Answer the editor at the other end of the standard streams, until it ends the session; never returns.

    Args:
        read: reads the options that the editor gives besides those of the command line.
    """
    # What else is written to standard output, by a rule pack perhaps, would garble the protocol.
    talk = os.fdopen(os.dup(sys.stdout.fileno()), "wb")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    worker = Worker()
    session = Session(read, worker)

    def listen() -> None:
        try:
            session.server.start_io(sys.stdin.buffer, talk)
        finally:
            # The thread that reads standard input may wait for ever, and a check may be under way: nobody wants it any more.
            os._exit(0 if session.asked_to_end else 1)

    threading.Thread(target=listen, name="editor", daemon=True).start()
    try:
        worker.work()
    except (KeyboardInterrupt, SystemExit) as end:
        os._exit(130 if isinstance(end, KeyboardInterrupt) else 143)
