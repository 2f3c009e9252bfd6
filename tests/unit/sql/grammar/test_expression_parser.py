"""Test the structure of parsed expressions: precedence, associativity and the forms of Flink's predicates."""

from __future__ import annotations

import pytest
from sqlglot import exp

from kafka_sql.errors import SqlSyntaxError
from kafka_sql.sql.grammar.parser import parse_declaration


def parse(expression: str) -> exp.Expr:
    text = f"CREATE TABLE t (x AS {expression}) WITH ('connector' = 'kafka')"
    parsed = parse_declaration(text).columns[0].expression
    assert parsed is not None
    return parsed


def tree(node: exp.Expr) -> str:
    """Return an expression as nested calls: ``Add(a, Mul(b, c))``."""
    if isinstance(node, exp.Column | exp.Literal | exp.Null | exp.Boolean | exp.Var | exp.Identifier):
        return node.sql()
    return f"{type(node).__name__}({', '.join(map(tree, node.iter_expressions()))})"


@pytest.mark.parametrize(
    ("expression", "expected"),
    [
        ("a + b * -c", "Add(a, Mul(b, Neg(c)))"),
        ("a - b - c", "Sub(Sub(a, b), c)"),
        ("a / b % c", "Mod(Div(a, b), c)"),
        ("(a + b) * c", "Mul(Paren(Add(a, b)), c)"),
        ("- + - a", "Neg(Neg(a))"),
        ("NOT a = 1 AND b OR c", "Or(And(Not(EQ(a, 1)), b), c)"),
        ("a OR b AND NOT NOT c", "Or(a, And(b, Not(Not(c))))"),
        ("a <> 1", "NEQ(a, 1)"),
        ("a != 1", "NEQ(a, 1)"),
        ("a + 1 >= b", "GTE(Add(a, 1), b)"),
        ("a LIKE 'x!%' ESCAPE '!'", "Escape(Like(a, 'x!%'), '!')"),
        ("a LIKE 'x'", "Like(a, 'x')"),
        ("a NOT LIKE 'x'", "Not(Like(a, 'x'))"),
        ("a SIMILAR TO 'x'", "SimilarTo(a, 'x')"),
        ("a NOT SIMILAR TO 'x'", "Not(SimilarTo(a, 'x'))"),
        ("a SIMILAR TO 'x' ESCAPE '#'", "Escape(SimilarTo(a, 'x'), '#')"),
        ("NOT (a, b) OVERLAPS (c, d)", "Not(Overlaps(Tuple(a, b), Tuple(c, d)))"),
        ("a IN (1, b + 1)", "In(a, 1, Add(b, 1))"),
        ("a NOT IN (1)", "Not(In(a, 1))"),
        ("a BETWEEN 1 AND 2 AND b", "And(Between(a, 1, 2), b)"),
        ("a NOT BETWEEN ASYMMETRIC 1 AND 2", "Not(Between(a, 1, 2))"),
        ("a IS NULL", "Is(a, NULL)"),
        ("a IS TRUE IS NOT FALSE", "Not(Is(Is(a, TRUE), FALSE))"),
        ("a = b IS UNKNOWN", "Is(EQ(a, b), UNKNOWN)"),
        ("a IS DISTINCT FROM b + 1", "NullSafeNEQ(a, Add(b, 1))"),
        ("a IS NOT DISTINCT FROM b", "NullSafeEQ(a, b)"),
        ("r.a.`b c`[1].d", 'Dot(Bracket(Dot(Dot(r, a), "b c"), 1), d)'),
        ("CASE a WHEN 1 THEN 2 WHEN 3 THEN 4 ELSE 5 END", "Case(a, If(1, 2), If(3, 4), 5)"),
        ("CASE WHEN a THEN 1 END", "Case(If(a, 1))"),
        (".5 + 1.5", "Add(.5, 1.5)"),
        ("true", "TRUE"),
        ("FALSE", "FALSE"),
        ("NULL", "NULL"),
        ("date", "date"),
        ("DATE '2020-01-01'", "Introducer(DATE, '2020-01-01')"),
        ("ARRAY[1, a]", "Anonymous(1, a)"),
        ("current_date", "Anonymous()"),
        ("a || b || c", "DPipe(DPipe(a, b), c)"),
    ],
)
def test_the_structure_of_an_expression(expression: str, expected: str) -> None:
    assert tree(parse(expression)) == expected


@pytest.mark.parametrize(
    ("expression", "symmetric"), [("a BETWEEN SYMMETRIC 2 AND 1", True), ("a BETWEEN 1 AND 2", False)]
)
def test_a_symmetric_between(expression: str, symmetric: bool) -> None:
    assert parse(expression).args["symmetric"] is symmetric


@pytest.mark.parametrize(
    ("interval", "length", "unit"),
    [
        ("INTERVAL '5' MINUTES", "5", "MINUTE"),
        ("INTERVAL -'1 2' DAY(2) TO SECOND(2, 3)", "-1 2", "DAY TO SECOND"),
        ("interval '1' year", "1", "YEAR"),
    ],
)
def test_intervals(interval: str, length: str, unit: str) -> None:
    parsed = parse(interval)
    assert (parsed.this.name, parsed.args["unit"].name) == (length, unit)


@pytest.mark.parametrize(("expression", "name"), [("f(1)", "F"), ("MAP['a', 1]", "MAP[]"), ("LOCALTIME", "LOCALTIME")])
def test_the_name_of_a_call_is_in_upper_case(expression: str, name: str) -> None:
    assert parse(expression).this == name


@pytest.mark.parametrize(
    ("expression", "message"),
    [
        ("a = b = c", "chained comparisons need parentheses"),
        ("a NOT 1", "expected BETWEEN, IN, LIKE or SIMILAR TO after NOT"),
        ("a IS 1", "expected NULL, TRUE, FALSE, UNKNOWN, JSON or DISTINCT FROM after IS [NOT]"),
        ("(VALUES 1)", "a computed column cannot contain a subquery"),
        ("a BETWEEN 1 OR 2", "expected AND in BETWEEN"),
        ("CASE ELSE 1 END", "expected an expression"),
        ("INTERVAL '5' DAY(2 TO SECOND", "expected ')' after the unit's precision"),
        ("FROM", "expected an expression"),
    ],
)
def test_syntax_errors(expression: str, message: str) -> None:
    with pytest.raises(SqlSyntaxError) as e:
        parse(expression)
    assert message in str(e.value)
