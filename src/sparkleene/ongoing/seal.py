"""Bytes that are kept for long: with a version, and a checksum that tells if they were damaged."""

from __future__ import annotations

import zlib

from sparkleene.errors import DataError, Diagnostic

MAGIC = b"SKS"
VERSION = 1
"""The version of what is kept. Raise it when the meaning of bytes changes, and read the old ones or refuse them."""

AGAIN = "start the query with a new checkpoint and let it read its input again"


def seal(payload: bytes | memoryview) -> bytes:
    """Return bytes to keep.

    >>> unseal(seal(b"state"))
    <memory at 0x...>
    """
    return b"".join([MAGIC, bytes([VERSION]), zlib.crc32(payload).to_bytes(4, "little"), payload])


def unseal(kept: bytes) -> memoryview:
    """Return what was sealed, or raise if it is of another version or damaged."""
    view = memoryview(kept)
    if len(view) < 8 or view[:3] != MAGIC:
        raise damage_error("it is not what was written")
    if view[3] != VERSION:
        message = f"the state is of version {view[3]}, and this release reads version {VERSION}"
        help = f"go on with the release that wrote it, or {AGAIN}"
        raise DataError(Diagnostic("state-version", message, help=help))
    if zlib.crc32(view[8:]) != int.from_bytes(view[4:8], "little"):
        raise damage_error("its checksum is wrong")
    return view[8:]


def checksum(kept: bytes) -> int:
    """Return the checksum that sealed bytes carry."""
    return int.from_bytes(kept[4:8], "little")


def damage_error(why: str) -> DataError:
    """Return the error for state that cannot be read."""
    help = f"bring the checkpoint back from a copy, or {AGAIN}"
    return DataError(Diagnostic("damaged-state", f"the state of a stream is damaged: {why}", help=help))
