"""The build hook of wheels: compiles kernels for this machine, so that a first fit does not have to.

They are those of a CRF and of a SemiCRF from tokens, their predictions and their files, which is what `Auto` tries
without rules. In an editable install they lie beside the sources; one whose source changes later is compiled anew.
Where they cannot be compiled the wheel is built without, and every kernel is compiled when it is first needed; so it is
with SIDELIGHT_COMPILE=0.

A wheel that holds compiled kernels is tagged for this version of Python and this platform (`cp311-cp311-linux_x86_64`);
one without kernels is for all of them (`py3-none-any`).
"""

import os
import subprocess
import sys
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory, mkdtemp
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

_SECONDS = 300  # at most
_HOME = "sidelight/kernels/compiled"
_NEEDED = ("numpy", "numba", "threadpoolctl")
_USE = """
import sys
from pathlib import Path
from sidelight import CRF, SemiCRF, load
from sidelight.kernels import store

model = Path(sys.argv[2]) / "model"
X, y = [["a", "b", "c"], ["d", "e"]], [["P", "Q", "Q"], ["Q", "P"]]
with store.fill(Path(sys.argv[1])):
    for learner in (CRF(), SemiCRF()):
        learner.fit(X, y).save(model)
        load(model).predict(X)
"""


class CustomBuildHook(BuildHookInterface):  # type: ignore[type-arg]
    """Adds compiled kernels to a wheel."""

    def dependencies(self) -> list[str]:
        """What a CRF imports, in the newest versions that are allowed, as in a new environment."""
        return [one for one in self.metadata.core.dependencies if one.startswith(_NEEDED)] if _wanted() else []

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile kernels into a wheel, or beside the sources of an editable install; tag wheels that have some."""
        source = Path(self.root, "src")
        if _wanted():
            self._add_kernels(source, version, build_data)
        if version != "editable" and (build_data["force_include"] or any((source / _HOME).glob("*.kernel"))):
            build_data.update(pure_python=False, infer_tag=True)

    def _add_kernels(self, source: Path, version: str, build_data: dict[str, Any]) -> None:
        with TemporaryDirectory(prefix="sidelight-model-") as scratch:
            if version == "editable":
                self._compile(source, source / _HOME, scratch)
                return
            self._folder = Path(mkdtemp(prefix="sidelight-kernels-"))
            self._compile(source, self._folder, scratch)
        for kernel in self._folder.glob("*.kernel"):
            build_data["force_include"][str(kernel)] = f"{_HOME}/{kernel.name}"

    def _compile(self, source: Path, folder: Path, scratch: str) -> None:
        path = os.pathsep.join(filter(None, (str(source), os.environ.get("PYTHONPATH"))))
        command = [sys.executable, "-c", _USE, str(folder), scratch]
        try:
            done = subprocess.run(
                command, env={**os.environ, "PYTHONPATH": path}, check=True, capture_output=True, timeout=_SECONDS
            )
        except (OSError, subprocess.SubprocessError) as error:
            self._warn(getattr(error, "stderr", None), type(error).__name__)
        else:
            if not any(folder.glob("*.kernel")):
                self._warn(done.stderr, f"nothing was written to {folder}")

    def _warn(self, said: bytes | None, otherwise: str) -> None:
        lines = (said or b"").decode(errors="replace").strip().splitlines()
        reason = lines[-1].strip() if lines else otherwise
        self.app.display_warning(f"kernels will be compiled when they are first needed, and not now: {reason}")

    def finalize(self, version: str, build_data: dict[str, Any], artifact_path: str) -> None:
        """Remove the folder."""
        if hasattr(self, "_folder"):
            rmtree(self._folder)


def _wanted() -> bool:
    return os.environ.get("SIDELIGHT_COMPILE", "1") != "0"
