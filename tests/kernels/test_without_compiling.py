"""Kernels run in Python where numba is told not to compile, to look into them with a debugger."""

import json
import os
import subprocess
import sys

import pytest

# Nine labels: from eight on, compiled kernels work in vector registers.
FITS = """
import json, warnings
from sidelight import CRF, SemiCRF
warnings.simplefilter("ignore")  # NumPy notes the overflow of hashes
X = [[f"w{i}{j}" for j in range(4)] for i in range(6)]
y = [[f"L{(i + j) % 9}" for j in range(4)] for i in range(6)]
learners = CRF(tolerance=1e-6), CRF(solver="lbfgs", tolerance=1e-6), SemiCRF(tolerance=1e-6)
found = [[learner.fit(X, y).weights_.tolist(), learner.predict(X)] for learner in learners]
"""


def test_fits_are_those_of_compiled_kernels():
    environment = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-c", FITS + "print(json.dumps(found))"]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    compiled: dict[str, object] = {}
    exec(FITS, compiled)
    for (weights, outputs), (expected, predicted) in zip(json.loads(done.stdout), compiled["found"], strict=True):
        assert weights == pytest.approx(expected, abs=2e-3)
        assert outputs == predicted
