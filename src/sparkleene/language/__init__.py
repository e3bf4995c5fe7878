"""The query language: text to syntax tree and back."""

from sparkleene.language.parser import parse, parse_expression
from sparkleene.language.printer import expr_to_text, pattern_to_text, to_text

__all__ = ["expr_to_text", "parse", "parse_expression", "pattern_to_text", "to_text"]
