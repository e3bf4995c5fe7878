"""Where compiled kernels are kept: prebuilt in the package, else in a folder of the user's.

A compiled kernel is a file, named after its function, the sources of that and the types of its arguments, in a
folder named after all else that it depends on (see `folder_name`). A kernel of other sources or for another
processor has another name, so it is never found. Processes that miss the same kernel wait for one of them to
compile it.
"""

from __future__ import annotations

import fcntl
import hashlib
import io
import os
import pickle
import re
import shutil
import sys
import tempfile
import time
from collections.abc import Mapping
from contextlib import suppress
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable
from io import BufferedWriter
from pathlib import Path
from threading import get_ident
from typing import Any

import llvmlite
import numba
from numba.core.caching import CompileResultCacheImpl, _Cache
from numba.core.runtime import rtsys
from numba.core.serialize import NumbaPickler
from numba.core.types import Type

from sparkleene.kernels.target import Target, prebuilt_targets

PREBUILT = "prebuilt"  # the folder beside the sources
_STALE_SECONDS = 30 * 24 * 3600
_PATIENCE = 120.0  # seconds that another process is given to compile what this one wants, too
_CHECK = hashlib.sha256().digest_size


def digest_of(sources: Mapping[str, bytes]) -> str:
    """Return what tells kernels of these sources from those of others."""
    return hashlib.sha256(repr(sorted(sources.items())).encode()).hexdigest()[:16]


_NOT_COMPILED = (
    "__init__.py",
    "ahead.py",
    "build.py",
    "interpret.py",
    "store.py",
    "target.py",
)  # a form more is to be built, too
SOURCES = {
    entry.name: entry.read_bytes()
    for entry in files(__package__).iterdir()
    if entry.name.endswith(".py") and entry.name not in _NOT_COMPILED
}
DIGEST = digest_of(SOURCES)
_IMPORTS = re.compile(rb"^from sparkleene\.kernels(?:\.(\w+) import| import (\w+)$)", re.MULTILINE)


def imported_modules(module: str) -> set[str]:
    """Return the modules of kernels whose sources a module's code depends on, itself among them."""
    found, new = set[str](), {module, "compiler"}
    while new:
        found |= new
        sources = [SOURCES.get(f"{one}.py", b"") for one in new]
        new = {(a or b).decode() for source in sources for a, b in _IMPORTS.findall(source)} - found
    return found


@cache
def module_digest(module: str) -> str:
    """Return what tells kernels of a module from those of other sources."""
    names = (f"{one}.py" for one in imported_modules(module))
    return digest_of({name: SOURCES[name] for name in names if name in SOURCES})[:8]


def folder_name(target: Target) -> str:
    """Name all that the kernels of a folder depend on: sources, Python, numba, LLVM, target."""
    python = f"{sys.implementation.cache_tag}-numba-{numba.__version__}-llvmlite-{llvmlite.__version__}"
    made_for = hashlib.sha256(repr(tuple(target)).encode()).hexdigest()[:8]
    return f"{DIGEST}-{python}-{target.cpu}-{made_for}"


def own_target() -> Target:
    """Return what this process compiles for."""
    from numba.core.registry import cpu_target

    return Target(*cpu_target.target_context.codegen().magic_tuple())


@cache
def prebuilt_folder() -> Traversable | None:
    """Return the folder of prebuilt kernels that fit, or None."""
    if os.environ.get("SPARKLEENE_PREBUILT") == "ignore":
        return None
    root = files(__package__) / PREBUILT
    folders = (root / folder_name(target) for target in prebuilt_targets())
    return next((folder for folder in folders if folder.is_dir()), None)


@cache
def own_folder() -> Path | None:
    """Return a folder for what this process compiles, or None where nothing can be written."""
    named = os.environ.get("NUMBA_CACHE_DIR")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    user = os.getuid()
    places = [Path(home, "sparkleene"), Path(tempfile.gettempdir(), f"sparkleene-{user}")]
    for place in [Path(named)] if named else places:
        kernels = place / "kernels"
        folder = kernels / folder_name(own_target())
        with suppress(OSError):  # a place that cannot be written
            new = not folder.exists()
            place.mkdir(mode=0o700, parents=True, exist_ok=True)
            kernels.mkdir(mode=0o700, exist_ok=True)
            folder.mkdir(mode=0o700, exist_ok=True)
            # Whoever can write one of these can put other code in place of ours.
            found = [path.stat() for path in (place, kernels, folder)]
            ours = all(one.st_uid == user and not one.st_mode & 0o022 for one in found)
            if (named or ours) and os.access(folder, os.W_OK | os.X_OK):
                if new:
                    remove_stale(folder.parent)
                return folder
    return None


def describe() -> str:
    """Tell which compiled kernels this process uses."""
    built = prebuilt_folder()
    if built is not None:
        target = next(one for one in prebuilt_targets() if built.name == folder_name(one))
        return f"prebuilt for {target.cpu}"
    own = own_folder()
    count = 0 if own is None else sum(1 for file in own.iterdir() if not file.name.endswith(".lock"))
    where = "nowhere: no folder can be written" if own is None else f"in {own}"
    return f"none prebuilt for this machine, Python and numba; {count} compiled here, kept {where}"


def remove_stale(root: Path) -> None:
    """Delete folders of kernels to which nothing was added for a month."""
    for folder in root.iterdir():
        if folder.is_dir() and folder.stat().st_mtime < time.time() - _STALE_SECONDS:
            shutil.rmtree(folder, ignore_errors=True)


def read_kernel(folder: Traversable | None, name: str) -> Any:
    """Return what was written for a kernel, or None if there is nothing or it is damaged."""
    if folder is None:
        return None
    try:
        data = (folder / name).read_bytes()
    except FileNotFoundError:
        return None
    check, rest = data[:_CHECK], data[_CHECK:]
    return pickle.loads(rest) if hashlib.sha256(rest).digest() == check else None


class _Pickler(NumbaPickler):
    """Leaves out the numbers that a process gives to types, so that the same kernel gives the same bytes."""

    def reducer_override(self, obj: Any) -> Any:
        if isinstance(obj, Type):
            reduced: Any = obj.__reduce__()
            rebuild, (make, arguments, state) = reduced
            return rebuild, (make, arguments, {name: one for name, one in state.items() if name != "_code"})
        return super().reducer_override(obj)


def to_bytes(payload: Any) -> bytes:
    """Return a compiled kernel as the bytes that are kept."""
    buffer = io.BytesIO()
    _Pickler(buffer, protocol=4).dump(payload)
    return buffer.getvalue()


def write_kernel(folder: Path, name: str, payload: Any) -> None:
    """Write a kernel, as a whole or not at all."""
    data = to_bytes(payload)
    with tempfile.NamedTemporaryFile(dir=folder, prefix=".new-", delete=False) as file:
        file.write(hashlib.sha256(data).digest() + data)
    os.replace(file.name, folder / name)


def _lock_within(file: BufferedWriter, seconds: float) -> bool:
    """Lock a file unless that takes longer; whoever has it may be stopped, or on a machine that is gone."""
    end = time.monotonic() + seconds
    while True:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return True
        except BlockingIOError:
            if time.monotonic() > end:
                return False
            time.sleep(0.05)


class KernelMissing(RuntimeError):
    """A kernel is not there, and compiling is forbidden by the environment."""


class KernelFiles(_Cache):
    """The compiled forms of one function, as numba asks for them."""

    def __init__(self, function: Any) -> None:
        self.module, self._function = function.__module__.rpartition(".")[2], function.__name__
        self._locks: dict[tuple[str, int], BufferedWriter] = {}  # by kernel and thread

    @property
    def cache_path(self) -> str:
        """Tell where new kernels go."""
        return str(own_folder())

    def file_name(self, signature: Any) -> str:
        """Return the name of the file for arguments of these types."""
        arguments = getattr(signature, "args", signature)
        types = hashlib.sha256(repr([str(one) for one in arguments]).encode()).hexdigest()[:16]
        return f"{self.module}.{self._function}-{module_digest(self.module)}-{types}"

    def is_kept(self, signature: Any) -> bool:
        """Tell whether there is a file for arguments of these types."""
        name, folders = self.file_name(signature), (prebuilt_folder(), own_folder())
        return any(folder is not None and (folder / name).is_file() for folder in folders)

    def load_overload(self, sig: Any, target_context: Any) -> Any:
        """Return the compiled function, or None if it is to be compiled now, by this process alone."""
        rtsys.initialize(target_context)  # what compiling needs besides is loaded when it is needed
        name = self.file_name(sig)
        found = read_kernel(prebuilt_folder(), name) or read_kernel(own_folder(), name)
        if found is None:
            may = os.environ.get("SPARKLEENE_COMPILE")
            if may == "never":
                raise KernelMissing(f"the kernel {name} is not there, and SPARKLEENE_COMPILE=never\n{sig}")
            announce()
            if may != "alone":
                from sparkleene.kernels import ahead  # which needs what is here

                ahead.tell(self.module)
            found = self._wait(name)
        return found and CompileResultCacheImpl.rebuild(self, target_context, found)

    def _wait(self, name: str) -> Any:
        """Return what another process has compiled while this one waited, or None if it is this one's turn."""
        folder = own_folder()
        if folder is None:
            return None
        with suppress(OSError):  # where files cannot be locked, some may compile the same
            lock = (folder / f"{name}.lock").open("wb")
            if not _lock_within(lock, _PATIENCE):
                lock.close()
                why = f"another process has not compiled {name} within {_PATIENCE:.0f} s, so this one does"
                sys.stderr.write(f"sparkleene: {why}\n")
                return None
            self._locks[name, get_ident()] = lock
        found = read_kernel(folder, name)
        if found is not None:
            self._unlock(name)
        return found

    def _unlock(self, name: str) -> None:
        lock = self._locks.pop((name, get_ident()), None)
        if lock is not None:
            Path(lock.name).unlink(missing_ok=True)
            lock.close()

    def unlock_all(self) -> None:
        """Let others compile what this thread has begun, and did not get done."""
        for name, thread in list(self._locks):
            if thread == get_ident():
                self._unlock(name)

    def save_overload(self, sig: Any, data: Any) -> None:
        """Keep a compiled function."""
        reduced = CompileResultCacheImpl.reduce(self, data)
        for environment in reduced[-1]:  # of helpers, which are not run by themselves
            data.codegen.set_env(environment.env_name, environment)
        folder, name = own_folder(), self.file_name(sig)
        if folder is None:
            return
        try:
            write_kernel(folder, name, (*reduced[:6], "", *reduced[7:]))  # without the listing of types
        except OSError as error:
            sys.stderr.write(f"sparkleene: a compiled kernel cannot be kept: {error}\n")
        finally:
            self._unlock(name)

    def enable(self) -> None:
        """Do nothing: kernels are always kept."""

    def disable(self) -> None:
        """Do nothing: kernels are always kept."""

    def flush(self) -> None:
        """Do nothing: kernels of other sources have other names."""


@cache
def announce() -> None:
    """Tell a person at a terminal, once, why it takes longer."""
    if sys.stderr.isatty():
        sys.stderr.write(
            "Compiling for this machine, once for each kind of query; `sparkleene warm` does it for all kinds.\n"
        )
