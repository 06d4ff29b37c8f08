"""Messages of the library in the words of the command line: options for parameters, names of commands for classes.

The library's messages are about Python, where most people meet them: `use solver='lbfgs'`, `use Auto or CRF`. Here a
parameter is an option (`--solver lbfgs`, `--set task.projective=false`) and a learner has its name for `--learner`.
"""

import re

from sidelight.cli.parameters import TASKS
from sidelight.learners.registry import REGISTRY

# Parts of messages that options say in another way.
_PHRASES = {
    "label=None": "--unlabeled FILE",
    "the base's classes=[...]": "--classes A,B",
    "classes=[...]": "--classes A,B",
    "name the labels in `classes`": "name the labels in --classes A,B",
    "give every token the columns that it had in training": "name the columns of the file with --columns, _ for each "
    "to leave out (plain text has one column)",
    "give the separator of the columns": "say --format tsv (tabs between columns) or --format columns (spaces)",
}
_COMMANDS = {name: entry.command for name, entry in REGISTRY.items() if entry.command}
_VALUE = r"(?:'[^']*'|\"[^\"]*\"|True|False|None|-?[\d.]*\d|\.\.\.)"
_CLASSES = "|".join(sorted(_COMMANDS, key=len, reverse=True))
# What is quoted stays as it is: it is from a file. A class is not a part of a path or of an expression such as CRF().
_WORDS = re.compile(
    rf"""\b(?:{"|".join(TASKS.values())})\((?P<of_task>\w+)=(?P<task_value>{_VALUE})\)
    | (?<![\w.=-])(?<!--set\ )(?P<parameter>[A-Za-z]\w*)=(?P<value>{_VALUE})(?!\w)
    | (?<!\w)(?P<quoted>'[^']*'|"[^"]*")
    | (?<![\w'"/.-])(?P<learner>{_CLASSES})(?![\w'"/(-]|\.\w)""",
    re.VERBOSE,
)


def as_typed(message: str) -> str:
    """Return a message with options and names of the command line in place of those of Python."""
    for phrase, option in _PHRASES.items():
        message = message.replace(phrase, option)
    return _WORDS.sub(_typed, message)


def _typed(found: re.Match[str]) -> str:
    if found["of_task"]:
        return f"--set task.{found['of_task']}={_text(found['task_value'])}"
    if found["parameter"]:
        return f"--{found['parameter'].replace('_', '-')} {_text(found['value'])}"
    return found["quoted"] or _COMMANDS[found["learner"]]


def _text(value: str) -> str:
    """A value as it is typed."""
    return value.lower() if value in ("True", "False", "None") else value.strip("'\"")
