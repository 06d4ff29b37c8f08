"""Work for other processes, in a module that they import in no time."""

import warnings
from time import sleep


def warn(part, common):
    warnings.warn(f"part {part}", UserWarning, stacklevel=1)
    return part


def slowly(part, common, shared):
    sleep(0.3)
    return part + common + shared


def total(part, common, shared):
    return float(part.sum() + shared.sum())


def for_a_minute(part, common):
    sleep(60)
