"""The exceptions of the package. Every expected failure is one of these, and its message says what to do."""


class SidelightError(Exception):
    """Base of all errors raised on purpose by sidelight."""


class DataError(SidelightError, ValueError):
    """The input is malformed; the message names the place (file and line, or sequence and position)."""


class NotSupported(SidelightError):
    """The chosen combination cannot do what is asked; the message names one that can."""


class Infeasible(SidelightError):
    """No output satisfies what is required; the message names the input and the requirement."""


class ModelFileError(SidelightError):
    """A model file cannot be read or written."""
