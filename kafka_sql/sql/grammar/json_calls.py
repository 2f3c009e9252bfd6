"""Nodes for the calls of JSON functions, whose arguments have keywords between them."""

from __future__ import annotations

from sqlglot import exp


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
