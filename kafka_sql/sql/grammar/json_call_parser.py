"""Parse calls of JSON functions, whose arguments have keywords between them.

The keywords become arguments in a fixed order, so that the translation of a function sees its arguments only.
"""

from __future__ import annotations

from abc import abstractmethod

from sqlglot import exp
from sqlglot.tokens import TokenType

from kafka_sql.sql.grammar.type_parser import TypeParser

_BEHAVIORS = {
    "JSON_VALUE": ("NULL", "ERROR", "DEFAULT"),
    "JSON_EXISTS": ("TRUE", "FALSE", "UNKNOWN", "ERROR"),
    "JSON_QUERY": ("NULL", "ERROR", "EMPTY ARRAY", "EMPTY OBJECT"),
}


class JsonCallParser(TypeParser):
    """Grammar of types and JSON functions."""

    @abstractmethod
    def read_expression(self) -> exp.Expr:
        """Read an expression."""

    def read_json_call(self, name: str) -> exp.Expr:
        """Read the arguments of the JSON function ``name``; its opening parenthesis comes next."""
        self._advance()
        if name in ("JSON_OBJECT", "JSON_ARRAY"):
            return self._read_constructor(name)
        values = [self.read_expression()]
        self.expect(TokenType.COMMA, f"expected ',' and a path in {name}")
        values.append(self.read_expression())
        if name != "JSON_EXISTS":
            returning = self.take_words("RETURNING")
            values.append(exp.Var(this=self._read_returning(name) if returning else ""))
        if name == "JSON_QUERY":
            values.append(exp.Var(this=self._read_wrapper()))
        return exp.Anonymous(this=name, expressions=[*values, *self._read_behaviors(name)])

    def _read_returning(self, name: str) -> str:
        if name == "JSON_QUERY":
            type = self.read_type(name)
            if type.name == "ARRAY" and type.elements[0].name == "STRING":
                return "ARRAY<STRING>"
            return type.name
        text = self.take_identifier("a type").upper()
        if self._curr.token_type == TokenType.L_PAREN:
            self.skip_group(TokenType.L_PAREN, TokenType.R_PAREN)
            text += "(n)"
        return text

    def _read_wrapper(self) -> str:
        """Read a wrapper clause: CONDITIONAL, UNCONDITIONAL, or nothing for WITHOUT."""
        wrapper = ""
        if self.take_words("WITH"):
            wrapper = "CONDITIONAL" if self.take_words("CONDITIONAL") else "UNCONDITIONAL"
            self.take_words("UNCONDITIONAL")
        elif not self.take_words("WITHOUT"):
            return wrapper
        self.take_words("ARRAY")
        if not self.take_words("WRAPPER"):
            self.fail("expected [ARRAY] WRAPPER in JSON_QUERY")
        return wrapper

    def _read_behaviors(self, name: str) -> list[exp.Expr]:
        """Read the clauses ON EMPTY and ON ERROR."""
        behaviors: dict[str, list[exp.Expr]] = {}
        while word := next((word for word in _BEHAVIORS[name] if self.take_words(*word.split())), None):
            default = [self.read_expression() if word == "DEFAULT" else exp.Null()] if name == "JSON_VALUE" else []
            if self.take_words("ON", "ERROR"):
                behaviors["ERROR"] = [exp.Var(this=word), *default]
                break
            if name == "JSON_EXISTS" or behaviors or not self.take_words("ON", "EMPTY"):
                self.fail(f"expected ON ERROR in {name}")
            behaviors["EMPTY"] = [exp.Var(this=word), *default]
        self.expect(TokenType.R_PAREN, f"expected ')' after the arguments of {name}")
        unset: list[exp.Expr] = [exp.Var(this=""), exp.Null()] if name == "JSON_VALUE" else [exp.Var(this="")]
        empty = [] if name == "JSON_EXISTS" else behaviors.get("EMPTY", unset)
        return [*empty, *behaviors.get("ERROR", unset)]

    def _read_constructor(self, name: str) -> exp.Expr:
        """Read JSON_OBJECT or JSON_ARRAY: NULL or ABSENT, and for each value its key, if any, its kind, and itself."""
        values: list[exp.Expr] = []
        on_null = self._take_on_null()
        while on_null is None and not self._match(TokenType.R_PAREN):
            if values:
                self.expect(TokenType.COMMA, f"expected ',' or ')' in {name}")
            if name == "JSON_OBJECT":
                self.take_words("KEY")
                values.append(self.read_expression())
                if not (self.take_words("VALUE") or self._match(TokenType.COLON)):
                    self.fail("expected VALUE after the key in JSON_OBJECT")
            values += self._read_json_item()
            on_null = self._take_on_null()
        if on_null is not None:
            self.expect(TokenType.R_PAREN, f"expected ')' after the arguments of {name}")
        default = "NULL" if name == "JSON_OBJECT" else "ABSENT"
        return exp.Anonymous(this=name, expressions=[exp.Var(this=on_null or default), *values])

    def _take_on_null(self) -> str | None:
        return next((word for word in ("NULL", "ABSENT") if self.take_words(word, "ON", "NULL")), None)

    def _read_json_item(self) -> list[exp.Expr]:
        """Read a value and its kind: RAW for the result of JSON_OBJECT or JSON_ARRAY, JSON for the argument of JSON."""
        value = self.read_expression()
        call = value.unnest()
        if isinstance(call, exp.Anonymous) and call.name in ("JSON_OBJECT", "JSON_ARRAY"):
            return [exp.Var(this="RAW"), call]
        if isinstance(call, exp.Anonymous) and call.name == "JSON" and len(call.expressions) == 1:
            return [exp.Var(this="JSON"), call.expressions[0]]
        return [exp.Var(this="VALUE"), value]
