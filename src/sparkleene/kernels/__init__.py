"""Compiled code only: arrays in, arrays out.

numba caches a compiled function until its own file changes, also when a function that it calls, in another file,
has changed. A kernel with stale arithmetic inside would give wrong numbers, so what is cached is named after
`DIGEST`: the content of all sources of this folder and numba's version. See jit.py.

On a Spark cluster the package may live in a zip, at a path that each application has anew, run by a user without a
home. Then numba would compile again every time, or fail; so the sources are unpacked into a folder named after
their content, and imported from there.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
from collections.abc import Mapping
from contextlib import suppress
from importlib.resources import files
from pathlib import Path

import numba


def digest_of(sources: Mapping[str, bytes], compiler: str) -> str:
    """Return what tells apart kernels that were compiled from other sources, or by another compiler."""
    return hashlib.sha256(repr((compiler, sorted(sources.items()))).encode()).hexdigest()


def unpack(sources: Mapping[str, bytes], name: str, places: list[Path]) -> Path | None:
    """Return a folder with the sources, in the first place that can be written and that others cannot write."""
    for place in places:
        folder = place / name
        with suppress(OSError):  # not ours to write, or another process was faster
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            if place.stat().st_uid != os.getuid() or place.stat().st_mode & 0o022:
                continue
            if not folder.exists():
                with tempfile.TemporaryDirectory(dir=place) as made:
                    new = Path(made, "new")
                    new.mkdir()
                    for file, source in sources.items():
                        (new / file).write_bytes(source)
                    new.rename(folder)
        if all((folder / file).is_file() and (folder / file).read_bytes() == sources[file] for file in sources):
            return folder
    return None


def _places() -> list[Path]:
    """Return where unpacked sources may be: the user's cache folder, else that of temporary files."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return [Path(home, "sparkleene"), Path(tempfile.gettempdir(), f"sparkleene-{os.getuid()}")]


_sources = {entry.name: entry.read_bytes() for entry in files(__name__).iterdir() if entry.name.endswith(".py")}
DIGEST = digest_of(_sources, numba.__version__)
if not Path(__file__).exists():
    _folder = unpack(_sources, DIGEST, _places())
    __path__ = [str(_folder)] if _folder else __path__
