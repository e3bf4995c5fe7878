"""Compile all kernels beforehand: for this machine, or into the package for every processor of a level.

python -m sparkleene.kernels.build                  into the package, for the best level that this machine can run
python -m sparkleene.kernels.build --every-level    for all levels
"""

from __future__ import annotations

import os
import queue
import shutil
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from pathlib import Path
from typing import Any

from numba.core import bytecode

from sparkleene.kernels.forms import forms
from sparkleene.kernels.store import PREBUILT, folder_name, module_digest
from sparkleene.kernels.target import Target, prebuilt_targets

_SHARE = "import sys; from sparkleene.kernels.build import compile_share; compile_share(*map(int, sys.argv[1:]))"

PROCESSES = 2  # not as many as there are processors: it decides which bytes the files have


KEPT = ".kept"  # marks a folder in which kernels of an earlier build are


class BuildError(Exception):
    """A process that compiles kernels has failed."""


class _Function(bytecode.FunctionIdentity):
    """A function whose file is named from the folder of its package on, not from where that happens to be.

    Machine code that raises an error has that name in it, and pip builds in a folder with another name every time.
    """

    @classmethod
    def from_function(cls, pyfunc: Any) -> Any:
        """Return what numba knows of a function."""
        found = super().from_function(pyfunc)
        folders = [f"{folder}{os.sep}" for folder in sys.path if folder]
        above = [folder for folder in folders if found.filename.startswith(folder)]
        found.filename = found.filename.removeprefix(max(above, key=len, default=""))
        return found


def compile_share(share: int, of: int) -> None:
    """Compile every `of`-th form, and print the name of each when it is there."""
    bytecode.FunctionIdentity = _Function
    for form in islice(forms(), share, None, of):
        form.compile()
        print(form.name, flush=True)


def count_forms() -> int:
    """Return how many forms there are."""
    return sum(1 for _ in forms())


def compile_all(environments: Sequence[Mapping[str, str]]) -> Iterator[str]:
    """Compile all forms in processes, one for each of the environments; yield names as they are done."""
    source = str(Path(__file__).parents[2])
    path = os.pathsep.join(filter(None, (source, os.environ.get("PYTHONPATH"))))
    started = [
        subprocess.Popen(
            [sys.executable, "-c", _SHARE, str(share), str(len(environments))],
            env={**os.environ, "PYTHONPATH": path, "SPARKLEENE_COMPILE": "alone", **more},  # nothing ahead of them
            stdout=subprocess.PIPE,
            text=True,
        )
        for share, more in enumerate(environments)
    ]
    names: queue.Queue[str | None] = queue.Queue()

    def listen(process: subprocess.Popen[str]) -> None:
        for line in process.stdout or ():
            names.put(line.strip())
        names.put(None)

    for process in started:
        threading.Thread(target=listen, args=(process,), daemon=True).start()
    try:
        left = len(started)
        while left:
            name = names.get()
            left -= name is None
            if name is not None:
                yield name
        if any(process.wait() for process in started):
            raise BuildError("a process that compiles kernels has failed; its message is above")
    finally:
        for process in started:
            process.terminate()


def prebuild(target: Target, package: Path, again: bool = True, processes: int = PROCESSES) -> Iterator[str]:
    """Compile all kernels for a level into a package's folder of kernels; yield names as they are done.

    The same sources give the same files, wherever they are and whatever the machine: names in machine code tell how
    many functions a process had compiled before, so each process has the same forms in the same order every time.
    With `again=False` kernels whose sources have not changed since the last build are kept, which is quicker, and
    the folder is marked, since its bytes may be others.
    """
    name = folder_name(target)
    root = package / PREBUILT
    with tempfile.TemporaryDirectory() as made:
        folders = [Path(made, str(share), "kernels", name) for share in range(processes)]
        kept = 0 if again else sum(keep_unchanged(root, folder) for folder in folders)
        yield from compile_all(
            [
                {
                    "NUMBA_CPU_NAME": target.cpu,
                    "NUMBA_CPU_FEATURES": target.features,
                    "NUMBA_CACHE_DIR": str(Path(made, str(share))),
                    "PYTHONHASHSEED": "0",
                    "SPARKLEENE_PREBUILT": "ignore",
                }
                for share in range(processes)
            ]
        )
        whole = Path(made, "whole")
        whole.mkdir()
        for folder in folders:
            for file in sorted(folder.iterdir()):
                if not (whole / file.name).exists():
                    shutil.move(file, whole / file.name)
        if kept:
            (whole / KEPT).touch()
        root.mkdir(exist_ok=True)
        staged = root / f"{name}.{os.getpid()}"  # a copy may be cut short, a new name is all or nothing
        shutil.move(whole, staged)
        shutil.rmtree(root / name, ignore_errors=True)
        staged.rename(root / name)
    for other in root.iterdir():
        if not other.name.startswith(name.partition("-")[0]):
            shutil.rmtree(other, ignore_errors=True)  # of other sources


def keep_unchanged(root: Path, folder: Path) -> int:
    """Copy kernels that an earlier build made of the same sources for the same target, and count them."""
    folder.mkdir(parents=True)
    files = root.glob(f"*-{folder.name.partition('-')[2]}/*.*-*-*")
    same = [file for file in files if file.name.split("-")[1] == module_digest(file.name.partition(".")[0])]
    for file in same:
        shutil.copy(file, folder / file.name)
    return len(same)


def is_built(folder: Path, again: bool) -> bool:
    """Tell whether all kernels of these sources are there, and with `again` also whether none was kept."""
    return folder.is_dir() and not (again and (folder / KEPT).exists())


def main(arguments: Sequence[str]) -> None:
    """Build into the package that this module belongs to, unless all is there."""
    package = Path(__file__).parent
    again = "--every-level" in arguments
    targets = prebuilt_targets()[: None if again else 1]
    if not targets:
        print("For this kind of machine kernels are compiled when they are first used, not beforehand.")
    for target in targets:
        if is_built(package / PREBUILT / folder_name(target), again):
            continue
        begin, count = time.monotonic(), count_forms()
        for done, _ in enumerate(prebuild(target, package, again), 1):
            if sys.stdout.isatty():
                print(f"\rCompiling kernels for {target.cpu}: {done} of {count}", end="", flush=True)
        lead = "\r" if sys.stdout.isatty() else ""
        print(f"{lead}Compiled {count} kernels for {target.cpu} in {time.monotonic() - begin:.0f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
