"""The script that types what README shows notices what differs."""

from pathlib import Path

import pytest

from benchmarks.readme import broken, difference, run_page, steps

PAGE = """
```console
$ echo one; echo two
one
...
$ true
```

```toml
# a.toml
x = 1
```

```python
print(3)
round(0.126, 3)  # 0.13: rounded as the comment is
[1, 2]  # [1, 2]
```
```text
3
```
"""


def test_steps():
    found = list(steps(PAGE))
    assert [(one.kind, one.line, one.printed) for one in found] == [
        ("command", 3, ["one", "..."]), ("command", 6, None), ("file", 9, None), ("python", 14, ["3"]),
    ]  # fmt: skip


def test_values_of_comments():
    assert broken("x = 2\n0.126  # 0.13: rounded\n[x]  # [2]\nx  # two of them\n", {}) == []
    assert broken("x = 2\n0.126  # 0.12: wrong\n[x]  # [3]\n", {}) == [
        "0.126: expected 0.12, got 0.13", "[x]: expected [3], got [2]",
    ]  # fmt: skip


def test_difference():
    assert difference(["a 1.2 s", "...", "z"], ["a 3 s ", "b", "c", "z", ""]) == []
    assert difference(["a", "b"], ["a", "c"])[-2:] == ["-b", "+c"]


@pytest.mark.parametrize(("change", "failures"), [("", 0), ("\n```console\n$ echo a\nb\n$ false\n```\n", 2)])
def test_a_page_is_typed(tmp_path, capsys, change, failures):
    import sys

    (tmp_path / "page.md").write_text(PAGE + change)
    assert run_page(tmp_path / "page.md", Path(sys.executable)) == failures
    assert capsys.readouterr().out.count("DIFFERS") == failures
