"""Compile all kernels into the wheel, so that no query waits for a compiler; not if SPARKLEENE_PREBUILT=ignore."""

from __future__ import annotations

import os
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class KernelHook(BuildHookInterface[Any]):
    """Puts compiled kernels into wheels, not into editable installations: `make setup` compiles for these."""

    def dependencies(self) -> list[str]:
        """Name what compiling needs, in the versions that the package needs."""
        if os.environ.get("SPARKLEENE_PREBUILT") == "ignore":
            return []
        project = tomllib.loads(Path(self.root, "pyproject.toml").read_text())["project"]
        return [one for one in project["dependencies"] if one.startswith(("numba", "numpy", "pyarrow"))]

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Compile, and mark the wheel as one for this Python and kind of machine."""
        if version == "editable" or os.environ.get("SPARKLEENE_PREBUILT") == "ignore":
            return
        source = Path(self.root, "src")
        command = [sys.executable, "-m", "sparkleene.kernels.build", "--every-level"]
        path = os.pathsep.join(filter(None, (str(source), os.environ.get("PYTHONPATH"))))  # pip's own has numba
        subprocess.run(command, env={**os.environ, "PYTHONPATH": path}, check=True)
        if Path(source, "sparkleene", "kernels", "prebuilt").is_dir():
            build_data["artifacts"].append("src/sparkleene/kernels/prebuilt/*/*")
            build_data["pure_python"] = False
            build_data["infer_tag"] = True
