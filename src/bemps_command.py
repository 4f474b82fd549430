"""The command `bemps`. Nothing is imported before Ctrl-C is handled, not even bemps: that takes a second."""

import os
import signal
import sys
from types import FrameType

STOPPED = 130


def main() -> None:
    """Run the command line. Ctrl-C before a command begins its work ends it with one line."""
    unhandled = signal.getsignal(signal.SIGINT) is signal.default_int_handler  # else the caller ignores it, as nohup
    if unhandled:
        signal.signal(signal.SIGINT, stop_at_once)
    from bemps.cli import app

    try:
        app()
    finally:
        if unhandled:
            signal.signal(signal.SIGINT, signal.SIG_IGN)  # what is left is the end of the interpreter


def stop_at_once(number: int, frame: FrameType | None) -> None:
    """Handle Ctrl-C while nothing is written: an exception within an import may become another one."""
    sys.stderr.write("Stopped.\n")
    sys.stderr.flush()
    os._exit(STOPPED)
