"""Test Java regular expressions. Expected matches are those of java.util.regex.Pattern.matches (Java 17)."""

from __future__ import annotations

import sys

import pytest

from kafka_sql.options.java_pattern import compile_java_pattern

# possessive quantifiers and atomic groups; rejected with Python 3.10
SINCE_3_11 = pytest.mark.skipif(sys.version_info < (3, 11), reason="not supported by Python 3.10")
NAMES = ("a", "b", "ab", "abc", "aB", "orders-eu", "orders.us", "_x", "1", "12", "a-b", "aa")


@pytest.mark.parametrize(
    ("pattern", "matched"),
    [
        ("a|b", "a b"),
        ("orders.*", "orders-eu orders.us"),
        (r"orders\..*", "orders.us"),
        (r"orders[.-](eu|us)", "orders-eu orders.us"),
        ("(?i)AB", "ab aB"),
        ("a(?i:b)", "ab aB"),
        (r"\d+", "1 12"),
        (r"\w", "a b 1"),
        (r"[^\w]*\w\W\w", "a-b"),
        (r"(a)\1", "aa"),
        ("(?!orders).*-.*", "a-b"),
        (r".*(?<=u[s])", "orders.us"),
        ("a{2}", "aa"),
        ("a{1,2}", "a aa"),
        pytest.param("a*+", "a aa", marks=SINCE_3_11),
        pytest.param("(?>a|ab)c", "", marks=SINCE_3_11),
        ("[]a]+", "a aa"),
        ("[^]a]", "b 1"),
        ("[a-]+b", "ab a-b"),
        (r"\x61", "a"),
        (r"\u0061b?", "a ab"),
        (r"\Aa\Z", "a"),
        ("a$", "a"),
        ("", ""),
        (r"a\-b", "a-b"),
        ("a|", "a"),
    ],
)
def test_matches_are_those_of_java(pattern: str, matched: str) -> None:
    compiled = compile_java_pattern(pattern)
    assert [name for name in NAMES if compiled.fullmatch(name)] == matched.split()


@pytest.mark.parametrize(
    ("pattern", "construct"),
    [
        ("[a-z&&[^b]]", "a nested character class"),
        ("[a-z&&b]", "an intersection of character classes ('&&')"),
        ("[a[bc]]", "a nested character class ('[')"),
        ("(?P<n>a)", "a named group ('(?P')"),
        ("(?<n>a)", "a named group ('(?<')"),
        (r"\Qa.b\E", r"an escape that Python does not support ('\Q')"),
        (r"\p{Alpha}+", r"an escape that Python does not support ('\p')"),
        (r"[\p{L}]+", r"an escape that Python does not support ('\p')"),
        ("a{,3}", "a '{' that is not a quantifier"),
        ("a{x}", "a '{' that is not a quantifier"),
        ("(?x)a b", "an inline flag other than i, m and s ('(?x)')"),
        ("(?u)a", "an inline flag other than i, m and s ('(?u)')"),
        ("(?a)a", "an inline flag other than i, m and s ('(?a)')"),
        ("a(?i)b", "lags not at the start"),
        ("(?#x)a", "a comment group"),
        ("(a)?(?(1)b|c)", "a condition on a group"),
        (r"(a)\141", "a backslash followed by 0 or by several digits"),
        (r"\012", "a backslash followed by 0 or by several digits"),
        (r"[\b]", "an escape with another meaning inside a character class"),
        ("[a--b]", "Java and Python may interpret it differently"),
        ("(", "invalid regular expression"),
        ("*a", "nothing to repeat"),
    ],
)
def test_rejected_constructs_are_named(pattern: str, construct: str) -> None:
    with pytest.raises(ValueError) as e:  # noqa: PT011
        compile_java_pattern(pattern)
    assert construct in str(e.value)


@pytest.mark.skipif(sys.version_info >= (3, 11), reason="supported since Python 3.11")
@pytest.mark.parametrize("pattern", ["a*+", "(?>a|ab)c"])
def test_constructs_that_python_3_10_lacks_are_rejected(pattern: str) -> None:
    with pytest.raises(ValueError, match="invalid regular expression"):
        compile_java_pattern(pattern)
