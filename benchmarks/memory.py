"""Peak memory of a process that reads the chunking data and trains one system: `python -m benchmarks.memory`."""

import resource
import subprocess
import sys
import tempfile
from pathlib import Path

from .datasets import Split, read_chunking
from .setting import Setting

# The first iterations allocate all that CRFsuite's L-BFGS ever does.
_ITERATIONS = 10


def peak_of(system: str, setting: Setting) -> float:
    """Peak resident MB of training the system in a process of its own."""
    command = [
        sys.executable,
        "-m",
        "benchmarks.memory",
        system,
        str(setting.data),
        setting.split,
        str(int(setting.small)),
    ]
    return float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)


def own_peak() -> float:
    """Peak resident MB of this process.

    ru_maxrss outlives exec, so in a child it may tell of the parent; Linux's VmHWM does not.
    """
    status = Path("/proc/self/status")
    if status.exists():
        line = next(line for line in status.read_text().splitlines() if line.startswith("VmHWM"))
        return int(line.split()[1]) / 1024
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak / 2**20 if sys.platform == "darwin" else peak / 1024


def main(system: str, data: str, split: Split, small: str) -> None:
    """Train and print the peak."""
    if int(small):
        from .small import small_sizes  # imports many modules, whose memory would count in every run

        with small_sizes():
            task = read_chunking(Path(data), split)
    else:
        task = read_chunking(Path(data), split)
    if system == "sidelight":
        from sidelight import CRF

        from .chunk_features import TEMPLATES

        CRF(TEMPLATES, l2=0.5, boundaries=False).fit(task.train_X, task.train_y)
    else:
        from . import crfsuite

        parameters = {**crfsuite.LBFGS, "max_iterations": _ITERATIONS}
        with tempfile.TemporaryDirectory() as folder:
            crfsuite.train(task.train_X, task.train_y, "lbfgs", parameters, Path(folder))
    print(own_peak())


if __name__ == "__main__":
    main(*sys.argv[1:])  # type: ignore[arg-type]
