"""The command `sidelight`, which is also `python -m sidelight`.

The commands are imported here, and not before, so that Ctrl-C ends them in the same way at any time.
"""

import sys


def main() -> None:
    """Run the command line."""
    try:
        from .cli.main import main as run

        run()
    except KeyboardInterrupt:
        print("interrupted", file=sys.stderr)
        sys.exit(130)


if __name__ == "__main__":
    main()
