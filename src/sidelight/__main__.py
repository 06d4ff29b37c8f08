"""`python -m sidelight` is the command `sidelight`."""

from .cli.main import main

main()
