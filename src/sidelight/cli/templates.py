"""Feature templates from the command line and from files."""

from sidelight.data.source import read_lines
from sidelight.errors import DataError


def read_templates(given: list[str], file: str | None) -> list[str] | None:
    """The templates given one by one and those of a file, one a line; None if there are neither."""
    from sidelight.features.columns import parse

    for text in given:
        parse(text)
    if file is None:
        return given or None
    lines = read_lines(file)
    found = list(given)
    for number, line in enumerate(lines.lines, start=1):
        text = line.strip()
        if not text or text.startswith("#"):
            continue
        try:
            parse(text)
        except DataError as error:
            raise lines.error(number, str(error)) from None
        found.append(text)
    if not found:
        raise DataError(f"{file}: there are no templates in it; write one a line, such as word[-1] & word")
    return found
