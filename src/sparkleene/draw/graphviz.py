"""Text for Graphviz: a directed graph around statements, and quoting."""

from __future__ import annotations

from collections.abc import Iterable


def digraph(name: str, direction: str, node: str, statements: Iterable[str]) -> str:
    """Return a graph of these statements, its nodes drawn in a style."""
    lines = (
        f"rankdir={direction}",
        f'node [{node} fontname="Helvetica"]',
        'edge [fontname="Courier" fontsize=10]',
        *statements,
    )
    return "\n".join([f"digraph {name} {{", *(f"  {line}" for line in lines), "}"])


def quote(text: str) -> str:
    """Quote text for Graphviz, to whom a backslash means something in labels."""
    plain = "".join(char if char.isprintable() or char == "\n" else "\N{REPLACEMENT CHARACTER}" for char in text)
    return '"' + plain.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n") + '"'
