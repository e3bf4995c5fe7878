"""Shapes as SVG text: what a drawing of states and arrows needs, in colours for light and dark surroundings.

The drawing has a ground of its own, so that it can be read wherever it is shown. Arrow heads are plain shapes: a
page that holds many drawings has no names that could clash.
"""

from __future__ import annotations

import re
from html import escape
from unicodedata import east_asian_width

LINE = 14.0  # from one line of text to the next
CHAR = 6.6  # width of a letter of the text at arrows, which is in a font where all are equally wide
NAME = 15.0  # size of a state's name
SMALL = 10.5  # size of a type's name

Lines = tuple[tuple[str, str], ...]  # lines of text, each with its style

_STYLE = """\
.sk-automaton .ground{fill:#fff}
.sk-automaton .line,.sk-automaton .no{fill:none;stroke:#55657a;stroke-width:1.5}
.sk-automaton .no{stroke:#c62828;stroke-dasharray:5 3.5}
.sk-automaton .head-line,.sk-automaton .dot{fill:#55657a}
.sk-automaton .head-no{fill:#c62828}
.sk-automaton .state{fill:#edf3fc;stroke:#2f62a8;stroke-width:1.75}
.sk-automaton .ring{fill:none;stroke:#2f62a8;stroke-width:1.25}
.sk-automaton .more{fill:none;stroke:#8593a5;stroke-width:1.25;stroke-dasharray:2 3}
.sk-automaton text{text-anchor:middle;font-family:Helvetica,Arial,sans-serif}
.sk-automaton .name{font-size:15px;font-weight:600;fill:#16263d}
.sk-automaton .type{font-size:10.5px;fill:#56657a}
.sk-automaton .said,.sk-automaton .not{font-size:11px;font-family:Menlo,Consolas,'DejaVu Sans Mono',monospace}
.sk-automaton .said{fill:#33414f}
.sk-automaton .not{fill:#b71c1c;font-weight:600}
@media screen{.sk-automaton{max-width:100%;height:auto}}
@media (prefers-color-scheme:dark){
.sk-automaton .ground{fill:#15181e}
.sk-automaton .line{stroke:#9aa8ba}
.sk-automaton .no{stroke:#ff7b72}
.sk-automaton .head-line,.sk-automaton .dot{fill:#9aa8ba}
.sk-automaton .head-no{fill:#ff7b72}
.sk-automaton .state{fill:#1d2a3d;stroke:#79a8e8}
.sk-automaton .ring{stroke:#79a8e8}
.sk-automaton .name{fill:#eef3fa}
.sk-automaton .type{fill:#a9b6c6}
.sk-automaton .said{fill:#d3dbe5}
.sk-automaton .not{fill:#ff9088}
}"""


_NO_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


class Canvas:
    """Shapes with the room that they take; y grows downwards."""

    def __init__(self) -> None:
        """Begin a drawing without shapes, which takes no room."""
        self.shapes: list[str] = []
        self.left = self.right = self.top = self.bottom = 0.0

    def reach(self, left: float, top: float, right: float, bottom: float) -> None:
        """Make the drawing large enough to show a rectangle."""
        self.left, self.right = min(self.left, left), max(self.right, right)
        self.top, self.bottom = min(self.top, top), max(self.bottom, bottom)

    def path(self, style: str, *steps: str | float) -> None:
        """Draw a line, given as the words of an SVG path."""
        words = " ".join(step if isinstance(step, str) else number(step) for step in steps)
        self.shapes.append(f'<path class="{style}" d="{words}"/>')

    def head(self, x: float, y: float, dx: float, dy: float, style: str) -> None:
        """Draw the head of an arrow that points to a place, coming in a direction of length 1."""
        back_x, back_y = x - 9 * dx, y - 9 * dy
        corners = ((x, y), (back_x - 4 * dy, back_y + 4 * dx), (back_x + 4 * dy, back_y - 4 * dx))
        points = " ".join(f"{number(a)},{number(b)}" for a, b in corners)
        self.shapes.append(f'<polygon class="head-{style}" points="{points}"/>')

    def dot(self, x: float, y: float, radius: float, ring: bool) -> None:
        """Draw a small filled circle, with a ring around it for an end."""
        inner = radius - 3 if ring else radius - 1
        at = f'cx="{number(x)}" cy="{number(y)}"'
        if ring:
            self.shapes.append(f'<circle class="line" {at} r="{number(radius)}"/>')
        self.shapes.append(f'<circle class="dot" {at} r="{number(inner)}"/>')

    def state(self, x: float, half: float, radius: float, accepting: bool, more: bool, said: str) -> None:
        """Draw a circle, or a longer shape with round ends; twice for an accepting state."""

        def shape(style: str, less: float) -> str:
            box = _box(x - half + less, -radius + less, 2 * (half - less), 2 * (radius - less))
            return f'<rect class="{style}" {box} rx="{number(radius - less)}"/>'

        inner = shape("ring", 4) if accepting else ""
        outer = shape("more" if more else "state", 0)
        self.shapes.append(f"<g><title>{plain(said)}</title>{outer}{inner}</g>")

    def label(self, x: float, y: float, lines: Lines, said: str) -> None:
        """Write lines above a height, on a ground that hides what passes behind them."""
        half, top = block(lines) / 2 + 3, y - len(lines) * LINE
        box = _box(x - half, top + 1, 2 * half, y - top + 2)
        self.shapes.append(f'<g><title>{plain(said)}</title><rect class="ground" {box}/>')
        for k, (text, style) in enumerate(lines):
            self.text(x, top + (k + 1) * LINE - 1, text, style)
        self.shapes.append("</g>")

    def text(self, x: float, y: float, text: str, style: str) -> None:
        """Write a line, centred."""
        if text:
            at = f'x="{number(x)}" y="{number(y)}"'
            self.shapes.append(f'<text class="{style}" {at}>{plain(text)}</text>')

    def note(self, text: str, below: float) -> None:
        """Write a line below everything, from the left."""
        y = self.bottom + below
        at = f'x="{number(self.left)}" y="{number(y)}" style="text-anchor:start"'
        self.shapes.append(f'<text class="type" {at}>{plain(text)}</text>')
        self.reach(self.left, y, self.left + wide(text, SMALL), y + 4)

    def add(self, other: Canvas, below: float) -> None:
        """Put another drawing below everything."""
        down = self.bottom - other.top + below if self.shapes else 0.0
        moved = [f'<g transform="translate(0 {number(down)})">', *other.shapes, "</g>"] if down else other.shapes
        self.shapes += moved
        self.reach(other.left, other.top + down, other.right, other.bottom + down)

    def to_svg(self, margin: float, title: str) -> str:
        """Return the drawing as the text of an SVG file."""
        left, top = self.left - margin, self.top - margin
        width, height = self.right - left + margin, self.bottom - top + margin
        size = f'width="{number(width)}" height="{number(height)}"'
        view = " ".join(map(number, (left, top, width, height)))
        name = 'xmlns="http://www.w3.org/2000/svg" class="sk-automaton" role="img"'
        return "\n".join(
            [
                f'<svg {name} {size} viewBox="{view}">',
                f"<title>{plain(title)}</title>",
                f"<style>{_STYLE}</style>",
                f'<rect class="ground" {_box(left, top, width, height)} rx="8"/>',
                *self.shapes,
                "</svg>",
            ]
        )


def plain(text: str) -> str:
    """Return text as it may stand in XML.

    >>> plain('a<b"&' + chr(0))
    'a&lt;b&quot;&amp;\N{REPLACEMENT CHARACTER}'
    """
    return escape(_NO_XML.sub("\N{REPLACEMENT CHARACTER}", text))


def number(value: float) -> str:
    """Print a number with one place at most.

    >>> number(2.0), number(-0.04), number(1.25)
    ('2', '0', '1.2')
    """
    return f"{round(value, 1) + 0.0:.1f}".removesuffix(".0")


def cells(text: str) -> int:
    """Return how many letters' width a text takes where letters are equally wide.

    >>> cells("ab"), cells("株")
    (2, 2)
    """
    return sum(2 if east_asian_width(char) in "WF" else 1 for char in text)


def block(lines: Lines) -> float:
    """Return how wide lines at an arrow are."""
    return max((cells(line) for line, _ in lines), default=0) * CHAR


def cut(name: str, most: int = 18) -> str:
    """Cut a long name.

    >>> cut("a" * 20)
    'aaaaaaaaaaaaaaaaa…'
    """
    return name if len(name) <= most else name[: most - 1] + "…"


def wide(text: str, size: float) -> float:
    """Guess how wide text is in a font that nobody knows beforehand.

    >>> wide("Will", 10) > wide("ill", 10) > 0
    True
    """
    kinds = (("iljtfrI.,:;'|!()[] ", 0.36), ("mwMW@%", 0.95))
    return size * sum(
        next((width for letters, width in kinds if char in letters), 0.7 if char.isupper() else 0.62)
        if cells(char) == 1
        else 1.05
        for char in text
    )


def _box(x: float, y: float, width: float, height: float) -> str:
    return f'x="{number(x)}" y="{number(y)}" width="{number(width)}" height="{number(height)}"'
