"""The command `sidelight`, which is also `python -m sidelight`.

The commands are imported here, and not before, so that Ctrl-C and SIGTERM end them in the same way at any time.
"""

import signal
import sys
from types import FrameType
from typing import NoReturn

_TERMINATED = 128 + signal.SIGTERM


def main() -> None:
    """Run the command line."""
    if signal.getsignal(signal.SIGTERM) is signal.SIG_DFL:
        signal.signal(signal.SIGTERM, _end)
    try:
        from .cli.main import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)


def _end(number: int, frame: FrameType | None) -> NoReturn:
    """End the command as Ctrl-C does: worker processes and temporary files go with it."""
    signal.signal(signal.SIGTERM, signal.SIG_DFL)  # a second one ends it at once
    print("terminated", file=sys.stderr)
    raise SystemExit(_TERMINATED)


if __name__ == "__main__":
    main()
