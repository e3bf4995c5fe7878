"""Compiled code only: arrays in, arrays out.

numba caches a compiled function until its own file changes, also when a function that it calls, in another file,
has changed. A kernel with stale arithmetic inside would give wrong numbers, so the cache of this folder is emptied
whenever any of its sources is not what it was.
"""

from __future__ import annotations

import hashlib
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


_forget_stale(Path(__file__).parent)
