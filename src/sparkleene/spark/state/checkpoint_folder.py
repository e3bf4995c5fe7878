"""The files of a checkpoint, and the checksums beside them."""

from __future__ import annotations

import os
import zlib
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import pyarrow as pa
import pyarrow.fs as pa_fs

from sparkleene.errors import DataError, Diagnostic


@dataclass(frozen=True)
class CheckpointFolder:
    """The files of a checkpoint, by their paths in it."""

    path: str
    system: Any
    root: str
    sizes: dict[str, int]

    @classmethod
    def open(cls, path: str) -> CheckpointFolder:
        """List a folder with all that is in it."""
        uri = "file://" + path[5:].removeprefix("//") if path.startswith("file:") else path  # Hadoop writes file:/
        try:
            if "://" in uri:
                system, root = pa_fs.FileSystem.from_uri(uri)
            else:
                system, root = pa_fs.LocalFileSystem(), os.path.abspath(uri)
            found = system.get_file_info(pa_fs.FileSelector(root, recursive=True, allow_not_found=True))
        except (pa.ArrowInvalid, OSError) as error:
            raise unreadable(path, error) from error
        prefix = len(root.rstrip("/")) + 1
        sizes = {info.path[prefix:]: info.size for info in found if info.type == pa_fs.FileType.File}
        return cls(path, system, root.rstrip("/"), sizes)

    @cached_property
    def names(self) -> set[str]:
        """The files without checksums and what was being written as a driver died."""
        return {name for name in self.sizes if not name.rpartition("/")[2].startswith(".")}

    def read(self, name: str) -> bytes:
        """Return the bytes of a file."""
        with self.system.open_input_stream(f"{self.root}/{name}") as stream:
            return bytes(stream.read())

    def inside(self, folder: str) -> dict[str, str]:
        """Return the files right inside a folder, by their names there."""
        prefix = f"{folder}/"
        inside = {name[len(prefix) :]: name for name in self.names if name.startswith(prefix)}
        return {short: name for short, name in inside.items() if "/" not in short}

    def folders(self, folder: str) -> set[str]:
        """Return the names of the folders with files somewhere in them that are inside a folder."""
        prefix = f"{folder}/"
        inside = (name[len(prefix) :] for name in self.names if name.startswith(prefix))
        return {name.partition("/")[0] for name in inside if "/" in name}

    def numbers(self, folder: str) -> set[int]:
        """Return the numbers that files right inside a folder are called by."""
        return {int(name) for name in self.inside(folder) if name.isdecimal()}

    def differs(self, name: str, content: bytes) -> bool:
        """Tell whether a file has other bytes than the checksums beside it were made of."""
        parent, slash, short = name.rpartition("/")
        beside = f"{parent}{slash}.{short}.crc"
        if beside not in self.sizes:
            return False
        kept = self.read(beside)
        size = int.from_bytes(kept[4:8], "big")
        if kept[:4] != b"crc\0" or not size:
            return True
        sums = [zlib.crc32(content[at : at + size]) for at in range(0, len(content), size)]
        return b"".join(each.to_bytes(4, "big") for each in sums) != kept[8:]


def unreadable(path: str, error: Exception) -> DataError:
    """Return the error for a checkpoint that cannot be read."""
    message = f"the checkpoint {path} cannot be read"
    return DataError(Diagnostic("unreadable-file", message, notes=(str(error),), help="look at the note"))
