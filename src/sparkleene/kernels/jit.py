"""The one way to compile a kernel or a helper of kernels, and to find it again compiled.

numba names the files of its cache after a function's qualified name. With `DIGEST` in that name, kernels of other
sources are never loaded, wherever the cache is: beside the sources, in NUMBA_CACHE_DIR, in the user's cache folder.
Processes of one version share files, which numba replaces as a whole; those of another version do not touch them.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, overload

import numba as nb

from sparkleene.kernels import DIGEST

MARK = f"_{DIGEST[:16]}"


@overload
def jit(function: Callable[..., Any]) -> Callable[..., Any]: ...
@overload
def jit(**options: Any) -> Callable[[Callable[..., Any]], Callable[..., Any]]: ...
def jit(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a function without the interpreter's lock; used as @jit, or @jit(...) with options of numba."""
    if function is None:
        return lambda function: jit(function, **options)
    if nb.config.DISABLE_JIT:
        return function
    function.__qualname__ += MARK
    compiled = nb.njit(nogil=True, cache=True, error_model="numpy", **options)(function)
    remove_stale(Path(compiled.stats.cache_path), MARK)
    return compiled


@cache
def remove_stale(folder: Path, mark: str) -> None:
    """Delete the cached kernels of a folder that other sources, or another numba, have left."""
    for kind in ("*.nbi", "*.nbc"):
        for file in folder.glob(kind):
            if mark not in file.name:
                with suppress(OSError):  # another process was faster, or the folder is read-only
                    file.unlink()
