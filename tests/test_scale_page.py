"""The page about clusters, corpora and long runs says nothing that does not run."""

import re
import subprocess
import sys
from pathlib import Path

PAGE = (Path(__file__).parents[1] / "docs" / "scale.md").read_text()


def fewer(script: str) -> str:
    """The script on a tenth of its generated references."""
    found, count = re.subn(r"generate_references\((\d+)0, seed=1\)", r"generate_references(\1, seed=1)", script)
    assert count == 1
    return found


def test_the_script_about_clusters_runs_as_a_file(tmp_path: Path) -> None:
    (script,) = re.findall(
        r"```python\n(from sidelight import CRF, generate_references, running_on.*?)```", PAGE, re.DOTALL
    )
    (tmp_path / "script.py").write_text(fewer(script))
    done = subprocess.run([sys.executable, tmp_path / "script.py"], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert re.fullmatch(r"[\d.]+ MB of data once; in each of \d+ passes a worker got .*\n", done.stdout)


def test_the_script_about_corpora_runs(tmp_path: Path) -> None:
    (script,) = re.findall(r"```python\n(from sidelight import CRF, StructuredPerceptron.*?)```", PAGE, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", fewer(script)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert float(done.stdout.split()[-1]) > 0.9
    assert [one.name for one in tmp_path.iterdir()] == ["references.sl"]


def test_the_script_about_runs_that_survive(tmp_path: Path) -> None:
    (script,) = re.findall(r"```python\n(from sidelight import CRF, checkpointing.*?)```", PAGE, re.DOTALL)
    done = subprocess.run([sys.executable, "-c", fewer(script)], capture_output=True, text=True, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "fields.model").exists()
    assert [one.name for one in (tmp_path / "fields.checkpoint").iterdir()] == ["lock"]
