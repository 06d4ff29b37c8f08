"""Fuzzing: altered or random input for what reads files and text, with the outcome of every case checked.

    python -m fuzz models --cases 10000 --seed 0      one target
    python -m fuzz all --cases 1000                   every target

A target is a module of this package with these functions:

    setup(folder)                    once for each process: whatever cases need; takes as long as it takes
    case(folder, random) -> str      one case, drawn from a `random.Random`: returns what the outcome is called

A case ends well where it returns, or raises an error of the package. Anything else is a failure: another exception, the
death of the process, too much time, or too much memory. See `harness`, which runs cases in a process of their own. A
case is drawn from the seed and its number alone, so `--first N --cases 1` repeats one.
"""
