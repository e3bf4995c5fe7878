"""Compiled code only: arrays in, arrays out.

numba caches a compiled function until its own file changes, also when a function that it calls, in another file,
has changed. A kernel with stale arithmetic inside would give wrong numbers, so the cache of this folder is emptied
whenever any of its sources is not what it was.

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


def _forget_stale(folder: Path) -> None:
    """Delete cached kernels that were compiled from other sources than those in the folder now."""
    digest = hashlib.sha256()
    for source in sorted(folder.glob("*.py")):
        digest.update(source.read_bytes())
    cache = folder / "__pycache__"
    mark = cache / "kernels.sha256"
    try:
        if mark.exists() and mark.read_text() == digest.hexdigest():
            return
        for kind in ("*.nbi", "*.nbc"):
            for stale in cache.glob(kind):
                stale.unlink(missing_ok=True)
        cache.mkdir(exist_ok=True)
        mark.write_text(digest.hexdigest())
    except OSError:
        # Not ours to write, or read-only: numba keeps its cache elsewhere, and an installation replaces all of
        # its files together, so that numba itself notices.
        return


def _unpack(sources: Mapping[str, bytes], places: list[Path]) -> Path | None:
    """Return a folder with the sources, in the first place that can be written and that others cannot write."""
    digest = hashlib.sha256(repr(sorted(sources.items())).encode()).hexdigest()
    for place in places:
        folder = place / digest
        with suppress(OSError):  # not ours to write, or another process was faster
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            if place.stat().st_uid != os.getuid() or place.stat().st_mode & 0o022:
                continue
            if not folder.exists():
                with tempfile.TemporaryDirectory(dir=place) as made:
                    new = Path(made, "new")
                    new.mkdir()
                    for name, source in sources.items():
                        (new / name).write_bytes(source)
                    new.rename(folder)
        if all(
            (folder / name).is_file() and (folder / name).read_bytes() == sources[name] for name in sources
        ):
            return folder
    return None


def _places() -> list[Path]:
    """Return where unpacked sources may be: the user's cache folder, else that of temporary files."""
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return [Path(home, "sparkleene"), Path(tempfile.gettempdir(), f"sparkleene-{os.getuid()}")]


if Path(__file__).exists():
    _forget_stale(Path(__file__).parent)
else:
    _sources = {
        entry.name: entry.read_bytes() for entry in files(__name__).iterdir() if entry.name.endswith(".py")
    }
    _folder = _unpack(_sources, _places())
    __path__ = [str(_folder)] if _folder else __path__
