"""Arrow tables as bytes in Arrow's stream format, and back."""

from __future__ import annotations

import pyarrow as pa


def to_bytes(table: pa.Table) -> memoryview:
    """Return the rows of a table as bytes, without others that share their memory."""
    sink = pa.BufferOutputStream()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table)
    return memoryview(sink.getvalue())


def to_table(payload: bytes | memoryview | pa.Buffer) -> pa.Table:
    """Return the table that `to_bytes` made bytes of; it shares their memory.

    >>> to_table(to_bytes(pa.table({"x": [1, 2]}).slice(1))).to_pydict()
    {'x': [2]}
    """
    return pa.ipc.open_stream(pa.py_buffer(payload)).read_all()
