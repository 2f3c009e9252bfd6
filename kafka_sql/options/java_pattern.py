"""Compile Java regular expressions with Python's ``re``; reject constructs that differ between the two.

Source: the documentation of java.util.regex.Pattern and of ``re``. Only full topic names are matched, which consist of
``[a-zA-Z0-9._-]``. Differences in non-ASCII characters and multiple lines are therefore irrelevant.
"""

from __future__ import annotations

import re
import warnings
from typing import Final

_ESCAPE: Final = (re.compile(r"\\[pPQEGhHRXkNcez]"), "an escape that Python does not support")
# constructs that Java rejects or interprets differently, outside of [...]
_OUTSIDE: Final = (
    _ESCAPE,
    (re.compile(r"\(\?(?:P|<(?![=!]))"), "a named group"),
    (re.compile(r"\(\?#"), "a comment group"),
    (re.compile(r"\(\?\("), "a condition on a group"),
    (re.compile(r"\(\?[a-zA-Z]*-?[a-zA-Z]*[^ims\W-][a-zA-Z-]*[:)]"), "an inline flag other than i, m and s"),
    (re.compile(r"\{(?!\d+(?:,\d*)?\})"), "a '{' that is not a quantifier such as {2}, {2,} or {2,3}"),
    (re.compile(r"\\(?:0|[1-9]\d)"), "a backslash followed by 0 or by several digits"),
)
# and inside of [...]
_INSIDE: Final = (
    _ESCAPE,
    (re.compile(r"\["), "a nested character class"),
    (re.compile(r"&&"), "an intersection of character classes"),
    (re.compile(r"\\[b\d]"), "an escape with another meaning inside a character class"),
)


def compile_java_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern that has the same meaning in Java and Python.

    Raises:
        ValueError: the pattern is invalid, or has a construct that differs between Java and Python.
    """
    for part, is_in_class in _parts(text):
        for construct, name in _INSIDE if is_in_class else _OUTSIDE:
            match = construct.search(part)
            if match is not None:
                raise ValueError(f"{name} ('{match[0]}') is not supported")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Python warns about syntax that Java interprets differently
        try:
            return re.compile(text, re.ASCII)
        except re.error as e:
            raise ValueError(f"invalid regular expression ({e})") from e
        except (RecursionError, OverflowError, MemoryError):
            raise ValueError("the regular expression is too large or too deeply nested") from None
        except Warning as e:
            raise ValueError(f"Java and Python may interpret it differently ({e})") from e


def _parts(text: str) -> list[tuple[str, bool]]:
    """Return the parts of a pattern and whether each is inside a class ``[...]``. Escaped punctuation is removed."""
    parts: list[tuple[str, bool]] = []
    is_in_class, part = False, ""
    for token in re.findall(r"\\\d+|\\.|\[\^?\]?|.|\\$", text, re.DOTALL):
        if token[0] == "[" and not is_in_class:  # an unmatched "]" is a literal
            parts.append((part, is_in_class))
            is_in_class, part = True, ""
        elif token == "]" and is_in_class:
            parts.append((part, is_in_class))
            is_in_class, part = False, ""
        elif token[0] != "\\" or token[1:].isalnum():
            part += token
    return [*parts, (part, is_in_class)]
