"""Parse function calls, including those with keywords between their arguments, which have nodes of their own."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable
from typing import Any, Final

from sqlglot import exp
from sqlglot.tokens import TokenType

from kafka_sql.sql.grammar.type_parser import TypeParser

# Functions with a special syntax that are rejected by name later, so their arguments are skipped
_UNSUPPORTED: Final = ("CONVERT", "JSON_ARRAYAGG", "JSON_OBJECTAGG")
_CLOSING: Final = {
    **dict.fromkeys(("CAST", "TRY_CAST"), "expected ')' after the type of CAST"),
    **dict.fromkeys(("TIMESTAMPADD", "TIMESTAMPDIFF"), "expected ',' or ')' in {}"),
}
_SEPARATORS: Final = {"SUBSTRING": ("FROM", "FOR"), "OVERLAY": ("PLACING", "FROM", "FOR"), "POSITION": ("IN",)}
_BEHAVIORS: Final = {
    "JSON_VALUE": ("NULL", "ERROR", "DEFAULT"),
    "JSON_EXISTS": ("TRUE", "FALSE", "UNKNOWN", "ERROR"),
    "JSON_QUERY": ("NULL", "ERROR", "EMPTY ARRAY", "EMPTY OBJECT"),
}


class JsonBehavior(exp.Expression):
    """``NULL ON EMPTY`` or ``DEFAULT x ON ERROR``: a keyword, and the value after DEFAULT."""

    arg_types = {"this": True, "default": False}  # noqa: RUF012  sqlglot declares nodes this way


class JsonCall(exp.Expression):
    """A call of JSON_VALUE, JSON_QUERY or JSON_EXISTS.

    The type after RETURNING is a text, and the wrapper is CONDITIONAL or UNCONDITIONAL. What is not written is missing.
    """

    arg_types = {  # noqa: RUF012
        "function": True,
        "this": True,
        "path": True,
        "returning": False,
        "wrapper": False,
        "on_empty": False,
        "on_error": False,
    }


class JsonMember(exp.Expression):
    """A value of JSON_OBJECT or JSON_ARRAY.

    Its kind is RAW for the result of JSON_OBJECT or JSON_ARRAY, JSON for the argument of JSON, and VALUE for others.
    """

    arg_types = {"this": True, "kind": True, "key": False}  # noqa: RUF012


class JsonConstructor(exp.Expression):
    """A call of JSON_OBJECT or JSON_ARRAY, with NULL ON NULL or ABSENT ON NULL."""

    arg_types = {"function": True, "expressions": False, "is_absent_on_null": True}  # noqa: RUF012


class CallParser(TypeParser):
    """Grammar of types and calls; subclasses define the grammar of arguments."""

    @abstractmethod
    def read_expression(self) -> exp.Expr:
        """Read an expression."""

    @abstractmethod
    def read_operand(self) -> exp.Expr:
        """Read one side of a comparison."""

    def read_call(self, name: str) -> exp.Expr:
        """Read the arguments of the function ``name``; its opening parenthesis comes next."""
        if name in _UNSUPPORTED:
            self.skip_group(TokenType.L_PAREN, TokenType.R_PAREN)
            return exp.Anonymous(this=name)
        name = "CEIL" if name == "CEILING" else name
        self._advance()
        read = self._FUNCTIONS.get(name)
        if read is None:
            return exp.Anonymous(this=name, expressions=self.read_items(TokenType.R_PAREN, "expected ',' or ')'"))
        call = read(self, name)
        self.expect(TokenType.R_PAREN, _CLOSING.get(name, "expected ')' after the arguments of {}").format(name))
        return call

    def read_arguments(self, what: str) -> list[exp.Expr]:
        """Read a list in parentheses; ``what`` describes it in the error if it is missing."""
        self.expect(TokenType.L_PAREN, f"expected {what}")
        return self.read_items(TokenType.R_PAREN, "expected ',' or ')'")

    def read_items(self, closing: TokenType, message: str) -> list[exp.Expr]:
        """Read expressions up to a closing bracket; ``message`` is the error without it."""
        return [] if self._match(closing) else self.read_list(self.read_expression, closing, message)

    def _read_cast(self, name: str) -> exp.Expr:
        value = self.read_expression()
        self.expect_words("AS", message="expected AS and a type")
        return (exp.Cast if name == "CAST" else exp.TryCast)(this=value, to=self.read_type("CAST"))

    def _read_extract(self, name: str) -> exp.Expr:
        unit = self._read_unit("a unit such as YEAR")
        self.expect_words("FROM", message="expected FROM in EXTRACT")
        return exp.Anonymous(this=name, expressions=[unit, self.read_expression()])

    def _read_floor_or_ceil(self, name: str) -> exp.Expr:
        """Read ``x`` or ``x TO unit``."""
        value = self.read_expression()
        if not self.take_words("TO"):
            return exp.Anonymous(this=name, expressions=[value])
        return (exp.Floor if name == "FLOOR" else exp.Ceil)(this=value, to=self._read_unit("a unit such as HOUR"))

    def _read_unit(self, what: str) -> exp.Var:
        return exp.Var(this=self.take_identifier(what).upper())

    def _read_timestamp_function(self, name: str) -> exp.Expr:
        unit = self._read_unit("a unit such as DAY")
        arguments: list[exp.Expr] = [exp.Var(this=unit.name.removeprefix("SQL_TSI_"))]
        while self._match(TokenType.COMMA):
            arguments.append(self.read_expression())
        return exp.Anonymous(this=name, expressions=arguments)

    def _read_separated(self, name: str) -> exp.Expr:
        """Read arguments separated by keywords or commas; trailing arguments are optional."""
        arguments = [self.read_operand() if name == "POSITION" else self.read_expression()]
        for separator in _SEPARATORS[name]:
            if not (self.take_words(separator) or self._match(TokenType.COMMA)):
                break
            arguments.append(self.read_expression())
        return exp.Anonymous(this=name, expressions=arguments)

    def _read_trim(self, name: str) -> exp.Expr:
        """Read ``s`` or ``[BOTH | LEADING | TRAILING] [characters] FROM s``."""
        side = self.take_one_of(("BOTH", "LEADING", "TRAILING"))
        characters: exp.Expr = exp.Literal.string(" ")
        if not self.take_words("FROM"):
            characters = self.read_expression()
            if not side and self._curr.token_type == TokenType.R_PAREN:
                return exp.Anonymous(this=name, expressions=[characters])
            self.expect_words("FROM", message="expected FROM or ')' in TRIM")
        return exp.Anonymous(this=name, expressions=[exp.Var(this=side or "BOTH"), characters, self.read_expression()])

    def _read_json_call(self, name: str) -> exp.Expr:
        call = JsonCall(function=name, this=self.read_expression())
        self.expect(TokenType.COMMA, f"expected ',' and a path in {name}")
        call.set("path", self.read_expression())
        if name != "JSON_EXISTS" and self.take_words("RETURNING"):
            call.set("returning", self._read_returning(name))
        if name == "JSON_QUERY":
            call.set("wrapper", self._read_wrapper())
        while word := self.take_one_of(_BEHAVIORS[name]):
            behavior = JsonBehavior(this=word, default=self.read_expression() if word == "DEFAULT" else None)
            if self.take_words("ON", "ERROR"):
                call.set("on_error", behavior)
                break
            if name == "JSON_EXISTS" or call.args.get("on_empty") or not self.take_words("ON", "EMPTY"):
                self.fail(f"expected ON ERROR in {name}")
            call.set("on_empty", behavior)
        return call

    def _read_returning(self, name: str) -> str:
        if name == "JSON_QUERY":
            type = self.read_type(name)
            is_list_of_strings = type.name == "ARRAY" and type.elements[0].name == "STRING"
            return "ARRAY<STRING>" if is_list_of_strings else type.name
        text = self.take_identifier("a type").upper()
        return text + ("(n)" if self.skip_group(TokenType.L_PAREN, TokenType.R_PAREN) else "")

    def _read_wrapper(self) -> str | None:
        """Read a wrapper clause: CONDITIONAL, UNCONDITIONAL, or nothing for WITHOUT."""
        wrapper = None
        if self.take_words("WITH"):
            wrapper = "CONDITIONAL" if self.take_words("CONDITIONAL") else "UNCONDITIONAL"
            self.take_words("UNCONDITIONAL")
        elif not self.take_words("WITHOUT"):
            return None
        self.take_words("ARRAY")
        self.expect_words("WRAPPER", message="expected [ARRAY] WRAPPER in JSON_QUERY")
        return wrapper

    def _read_constructor(self, name: str) -> exp.Expr:
        members: list[exp.Expr] = []
        on_null = self._take_on_null()
        while not on_null and self._curr.token_type != TokenType.R_PAREN:
            if members:
                self.expect(TokenType.COMMA, f"expected ',' or ')' in {name}")
            members.append(self._read_member(name))
            on_null = self._take_on_null()
        is_absent = (on_null or "ABSENT") == "ABSENT" if name == "JSON_ARRAY" else on_null == "ABSENT"
        return JsonConstructor(function=name, expressions=members, is_absent_on_null=is_absent)

    def _take_on_null(self) -> str:
        return self.take_one_of(("NULL ON NULL", "ABSENT ON NULL")).removesuffix(" ON NULL")

    def _read_member(self, name: str) -> JsonMember:
        key = None
        if name == "JSON_OBJECT":
            self.take_words("KEY")
            key = self.read_expression()
            if not self._match(TokenType.COLON):
                self.expect_words("VALUE", message="expected VALUE after the key in JSON_OBJECT")
        value = self.read_expression()
        call = value.unnest()
        if isinstance(call, JsonConstructor):
            return JsonMember(this=call, kind="RAW", key=key)
        if isinstance(call, exp.Anonymous) and call.name == "JSON" and len(call.expressions) == 1:
            return JsonMember(this=call.expressions[0], kind="JSON", key=key)
        return JsonMember(this=value, kind="VALUE", key=key)

    _FUNCTIONS: Final[dict[str, Callable[[Any, str], exp.Expr]]] = {
        **dict.fromkeys(("CAST", "TRY_CAST"), _read_cast),
        "EXTRACT": _read_extract,
        **dict.fromkeys(("FLOOR", "CEIL"), _read_floor_or_ceil),
        **dict.fromkeys(("TIMESTAMPADD", "TIMESTAMPDIFF"), _read_timestamp_function),
        **dict.fromkeys(_SEPARATORS, _read_separated),
        "TRIM": _read_trim,
        **dict.fromkeys(_BEHAVIORS, _read_json_call),
        **dict.fromkeys(("JSON_OBJECT", "JSON_ARRAY"), _read_constructor),
    }
