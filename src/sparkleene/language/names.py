"""What a dotted name means: a label's attribute, an attribute of any label, or a text constant."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from sparkleene.errors import NOWHERE, Diagnostic, Span, diagnostic_at, suggest, suggest_column
from sparkleene.language.ast import Aggregate, Extent, Gap, Ref
from sparkleene.language.bound import Field, Label, Literal_, Term
from sparkleene.language.functions import HAVING_INSTEAD


@dataclass(frozen=True, slots=True)
class Errors:
    """The diagnostics found so far; `context` ends their messages where the text is not the query's own."""

    found: list[Diagnostic] = field(default_factory=list)
    context: str = ""

    def report(
        self, code: str, message: str, span: Span, *, notes: tuple[str, ...] = (), help: str | None = None
    ) -> None:
        """Add a diagnostic."""
        span = NOWHERE if self.context else span
        self.found.append(diagnostic_at(code, message + self.context, span, help, notes))


@dataclass(frozen=True, slots=True)
class Name(Field):
    """An attribute as written, which binding turns into plain fields: one for each event that it can be of.

    It has the labels it may belong to, none where it was written without a label, and whether NEXT or PREV is
    around it. One of GAP is a time: without labels of whichever two events are neighbours.
    """

    labels: tuple[int, ...] = ()
    next: bool = False
    prev: bool = False
    gap: bool = False


@dataclass(frozen=True, slots=True)
class Scope:
    """Everything a name can mean: the pattern's labels and types, and the table's columns if known."""

    labels: tuple[Label, ...]
    columns: tuple[str, ...] | None
    errors: Errors
    source: str = ""
    time: str = "time"
    time_unit: str | None = None
    without_labels: str = "the definition of a type"  # where names stand that are of no label

    def labels_of(self, word: str) -> tuple[int, ...]:
        """Return the labels that a word means: the one of that name, or else all of that type."""
        named = tuple(i for i, label in enumerate(self.labels) if label.name == word)
        return named or tuple(i for i, label in enumerate(self.labels) if label.type == word)

    def positive(self, labels: Iterable[int]) -> tuple[int, ...]:
        """Return those of the labels that are not inside a NOT."""
        return tuple(i for i in labels if not self.labels[i].negated)

    def words(self) -> list[str]:
        """Return all names of labels and types."""
        return list(dict.fromkeys([each.name for each in self.labels] + [each.type for each in self.labels]))

    def name_of(self, ref: Ref) -> Name | None:
        """Return the attribute a name means, or None after reporting why there is none."""
        first = ref.parts[0]
        beside = ref.next or ref.prev
        labels = self.labels_of(first) if beside or len(ref.parts) > 1 else ()
        if labels and len(ref.parts) == 1:
            self.report_label_alone(first, ref.span)
            return None
        if labels:
            name = Name(ref.parts[1:], span=ref.span, labels=labels, next=ref.next, prev=ref.prev)
            return self._check_column(name, self.labels[labels[0]].type)
        if beside and not self.labels:
            self.report_misplaced_next(self.without_labels, ref)
            return None
        plain = not beside and (len(ref.parts) == 1 or not self.labels)
        if plain or (not beside and (self.columns is None or first in self.columns)):
            return self._check_column(Name(ref.parts, span=ref.span))
        self.report_unknown_label(first, ref.span)
        return None

    def operand(self, ref: Ref, text: bool) -> Term:
        """Return what a name in a condition means; `text` where a bare word can be a text constant."""
        word = ref.parts[0]
        bare = len(ref.parts) == 1 and not (ref.next or ref.prev)
        if bare and text and (self.columns is None or word not in self.columns):
            return Literal_(word, ref.span)
        if bare and self.columns is not None and word not in self.columns and self.labels_of(word):
            self.report_label_alone(word, ref.span)
            return Literal_(None, ref.span)
        return self.name_of(ref) or Literal_(None, ref.span)

    def aggregate(self, given: Aggregate | Extent) -> Term:
        """Return what an aggregate in an expression means; among attributes it means nothing."""
        what = given.word if isinstance(given, Extent) else given.function
        message = f"{what.upper()} is of trends, and here attributes of one row are needed"
        self.errors.report("misplaced-aggregate", message, given.span, help=HAVING_INSTEAD)
        return Literal_(None, given.span)

    def is_gap(self, ref: Ref) -> bool:
        """Tell whether a bare word is GAP; report it where the data has a column of that name.

        A label of that name is a label, and the definition of a type speaks of columns alone.
        """
        word = ref.parts[0]
        bare = len(ref.parts) == 1 and not (ref.next or ref.prev)
        if not bare or word.upper() != "GAP" or not self.labels or self.labels_of(word):
            return False
        self.is_also_a_column(ref, "GAP", "the time between neighbours")
        return True

    @property
    def place_without_neighbours(self) -> str | None:
        """Where names are not of two neighbours, None if they can be."""
        return None if self.labels else self.without_labels

    def is_also_a_column(self, ref: Ref, word: str, what: str) -> bool:
        """Report a measure of trends without parentheses where the data has a column of that name, in any case."""
        same = next((name for name in self.columns or () if name.upper() == word), None)
        if same is None:
            return False
        message = f"'{ref.parts[0]}' can be {what}, or the column '{same}'"
        help = f"write {word}() for the first, or the column with its label, such as {self.labels[0].name}.{same}"
        self.errors.report("ambiguous-attribute", message, ref.span, help=help)
        return True

    def report_unknown_label(self, word: str, span: Span) -> None:
        """Report a name that is neither a label nor a type of the pattern."""
        known = self.words()
        if self.source.startswith(word, span.start):
            span = Span(span.start, span.start + len(word))
        message, notes = f"the pattern has no label or event type '{word}'", (f"it has {listing(known)}",)
        self.errors.report("unknown-label", message, span, notes=notes, help=suggest(word, known))

    def report_misplaced_next(self, place: str, ref: Ref | Gap | Name) -> None:
        """Report a NEXT, PREV or GAP outside the conditions of WHERE."""
        gap = isinstance(ref, Gap) or (isinstance(ref, Name) and ref.gap)
        word = "GAP" if isinstance(ref, Gap) or gap else "PREV" if ref.prev else "NEXT"
        help = "it stands in conditions of WHERE"
        self.errors.report("misplaced-next", f"{word} has no meaning in {place}", ref.span, help=help)

    def report_label_alone(self, word: str, span: Span) -> None:
        """Report a label where an attribute is needed."""
        message = f"'{word}' is a label of the pattern, here an attribute is needed"
        self.errors.report("label-without-attribute", message, span, help=f"write {word}.attribute")

    def _check_column(self, name: Name, type: str | None = None) -> Name | None:
        """Return the name if the table has such a column; report it if not."""
        if self.columns is None or name.path[0] in self.columns:
            return name
        owner = "the table" if type is None else f"event type '{type}'"
        message = f"{owner} has no attribute '{name.path[0]}'"
        help = suggest_column(name.path[0], self.columns)
        notes = (f"the columns are {listing(self.columns)}",)
        self.errors.report("unknown-attribute", message, self._span_of_path(name), notes=notes, help=help)
        return None

    def _span_of_path(self, name: Name) -> Span:
        """Return the place of the attribute alone in `L.attribute`, where the text shows it."""
        written = ".".join(name.path)
        start = name.span.end - len(written)
        if start >= name.span.start and self.source[start : name.span.end] == written:
            return Span(start, start + len(name.path[0]))
        return name.span


def listing(words: Iterable[str], most: int = 20) -> str:
    """Return the words as a list to read, cut where it gets long.

    >>> listing(["a", "b", "c"], most=2)
    'a, b and 1 more'
    """
    words = list(words)
    more = f" and {len(words) - most} more" if len(words) > most else ""
    return (", ".join(words[:most]) or "none") + more
