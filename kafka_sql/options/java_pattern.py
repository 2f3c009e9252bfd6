"""Java's regular expressions by Python's ``re``, for what both read alike; what they read differently is refused.

Source: java.util.regex.Pattern's page and the ``re`` module's. Only whole topic names are matched, which Kafka allows
``[a-zA-Z0-9._-]`` to be made of: what differs beyond ASCII or over several lines makes no difference here.
"""

from __future__ import annotations

import re
import warnings
from typing import Final

_ESCAPE: Final = (re.compile(r"\\[pPQEGhHRXkNcez]"), "an escape that Python does not have")
# what Python takes and Java refuses or means otherwise, outside of [...] ...
_OUTSIDE: Final = (
    _ESCAPE,
    (re.compile(r"\(\?(?:P|<(?![=!]))"), "a named group"),
    (re.compile(r"\(\?#"), "a comment in brackets"),
    (re.compile(r"\(\?\("), "a condition on a group"),
    (re.compile(r"\(\?[a-zA-Z]*-?[a-zA-Z]*[^ims\W-][a-zA-Z-]*[:)]"), "a flag that the other does not have"),
    (re.compile(r"\{(?!\d+(?:,\d*)?\})"), "a '{' that begins no count such as {2}, {2,} or {2,3}"),
    (re.compile(r"\\(?:0|[1-9]\d)"), "a number behind a backslash that is not one digit"),
)
# ... and inside
_INSIDE: Final = (
    _ESCAPE,
    (re.compile(r"\["), "a class inside a class"),
    (re.compile(r"&&"), "an intersection of classes"),
    (re.compile(r"\\[b\d]"), "an escape that has another meaning inside a class"),
)


def compile_java_pattern(text: str) -> re.Pattern[str]:
    """Compile a pattern that Java and Python understand alike.

    Raises:
        ValueError: it is none, or has a construct that one of them does not have or reads otherwise; says which.
    """
    for part, inside in _parts(text):
        for construct, name in _INSIDE if inside else _OUTSIDE:
            found = construct.search(part)
            if found is not None:
                raise ValueError(f"{name} ('{found[0]}') is not supported")
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # Python warns of what it may read otherwise one day, which Java does today
        try:
            return re.compile(text, re.ASCII)
        except re.error as e:
            raise ValueError(f"no regular expression that is understood here ({e})") from e
        except (RecursionError, OverflowError, MemoryError):
            raise ValueError("no regular expression that can be carried out: it is too deep or too large") from None
        except Warning as e:
            raise ValueError(f"Java and Python may read it differently ({e})") from e


def _parts(text: str) -> list[tuple[str, bool]]:
    """The text in parts, and whether each is the inside of a class ``[...]``; escaped punctuation is left out."""
    parts: list[tuple[str, bool]] = []
    inside, part = False, ""
    for token in re.findall(r"\\\d+|\\.|\[\^?\]?|.|\\$", text, re.DOTALL):
        if token[0] == "[" and not inside:  # a bracket that closes nothing is itself
            parts.append((part, inside))
            inside, part = True, ""
        elif token == "]" and inside:
            parts.append((part, inside))
            inside, part = False, ""
        elif token[0] != "\\" or token[1:].isalnum():
            part += token
    return [*parts, (part, inside)]
