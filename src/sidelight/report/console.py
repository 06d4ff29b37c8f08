"""The two places to print to: results on standard output, messages on standard error."""

import os
import sys

from rich.console import Console

# Where there is no terminal to ask for its width.
_WIDTH = 100


def results() -> Console:
    """Standard output."""
    return Console(highlight=False, width=None if _has_width(sys.stdout.isatty()) else _WIDTH)


def messages() -> Console:
    """Standard error."""
    return Console(stderr=True, highlight=False, width=None if _has_width(sys.stderr.isatty()) else _WIDTH)


def _has_width(terminal: bool) -> bool:
    return terminal or os.environ.get("COLUMNS", "").isdigit()
