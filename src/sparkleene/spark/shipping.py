"""Give the package to the executors of a cluster that do not have it installed."""

from __future__ import annotations

import hashlib
import tempfile
import zipfile
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession


def ship(spark: SparkSession) -> None:
    """Send this package, with prebuilt kernels, to the executors; their Python then needs numba, numpy and pyarrow.

    Call it before the first query of a session; calling it again does nothing. Executors that have the package
    installed use the shipped one too: it is first on their path.
    """
    spark.addArtifacts(str(pack(Path(_temporary().name))), pyfile=True)


def pack(folder: Path) -> Path:
    """Write the package into a zip named after its content, the same bytes for the same files."""
    from sparkleene.kernels.store import DIGEST, PREBUILT

    root = Path(__file__).parents[1]
    paths = [*root.rglob("*.py"), *(root / "kernels" / PREBUILT).glob(f"{DIGEST}-*/*")]
    sources = {path.relative_to(root.parent).as_posix(): path.read_bytes() for path in paths}
    listed = sorted(sources.items())
    target = folder / f"sparkleene-{hashlib.sha256(repr(listed).encode()).hexdigest()[:16]}.zip"
    if not target.exists():
        with zipfile.ZipFile(target, "w") as archive:
            for name, source in listed:
                archive.writestr(zipfile.ZipInfo(name), source, zipfile.ZIP_DEFLATED)  # dated 1980, all alike
    return target


@cache
def _temporary() -> tempfile.TemporaryDirectory[str]:
    """Return a folder that stays until this process ends, for executors fetch the zip when they start."""
    return tempfile.TemporaryDirectory(prefix="sparkleene-")
