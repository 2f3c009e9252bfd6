"""Where a query names tables, by position, so that an edit leaves all other text as it was typed.

Names of CTEs are no references; they count from the end of their body (from its start after RECURSIVE) to the end of
the query they stand in. Table functions, VALUES and subqueries are none either; ``IDENTIFIER('t')`` is not looked into.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field

from kafka_sql.sql.recognize import lexer
from kafka_sql.sql.rewrite.table_suffix import table_suffix

FROM, QUERY, ARGUMENT, ENCLOSED = "from", "query", "argument", "enclosed argument"


@dataclass(frozen=True)
class TableReference:
    """A table's name in a query.

    Attributes:
        name: its parts.
        start, end: ``sql[start:end]`` is the name, with the word STREAM where it stands there.
        streaming: ``STREAM t`` or ``STREAM(t)``.
        alias: an alias follows.
        watermark: ``WATERMARK ... DELAY OF INTERVAL ...`` follows.
        sample: ``TABLESAMPLE (...)`` follows.
        options: Spark's ``WITH (...)`` follows.
        alias_at: where in the text an alias stands, or would.
        form: where the name stands: FROM, QUERY (``TABLE t``), ARGUMENT (``f(TABLE t)``) or ENCLOSED (``f(TABLE(t))``).
        form_start: where the word TABLE of a QUERY starts.
    """

    name: tuple[str, ...]
    start: int
    end: int
    is_stream: bool = False
    has_alias: bool = False
    has_watermark: bool = False
    has_sample: bool = False
    has_options: bool = False
    alias_position: int = 0
    form: str = FROM
    form_start: int = 0


def find_table_references(sql: str) -> list[TableReference]:
    """The tables that a query names, in their order in the text."""
    return _Finder(list(lexer.tokenize_spark(sql))).find()


def apply_edits(sql: str, edits: Iterable[tuple[int, int, str]]) -> str:
    """The text with each ``sql[start:end]`` replaced; edits must not overlap."""
    parts, last = [], 0
    for start, end, text in sorted(edits):
        parts += [sql[last:start], text]
        last = end
    return "".join(parts) + sql[last:]


@dataclass
class _Frame:
    """What is known within one pair of parentheses."""

    start: bool = True  # a query could start here
    expecting: bool = False  # a relation comes next
    in_from: bool = False  # a comma brings another relation
    selecting: bool = False  # after SELECT, before its FROM
    in_values: bool = False  # a comma brings another row
    naming: bool = False  # the name of a CTE comes next
    recursive: bool = False
    call: bool = False  # the parentheses of a function
    form: str = FROM  # where the next relation stands
    form_start: int = 0
    cte: str | None = None  # the CTE whose body this is
    ctes: set[str] = field(default_factory=set)


_SET_OPERATORS = {"UNION", "INTERSECT", "EXCEPT", "MINUS", "SETMINUS"}
_QUERIES = {"SELECT", "FROM", "TABLE", "VALUES", "WITH", "("}
# Words before a parenthesis that are no function's name.
_NO_CALL = set(
    """ALL AND ANY AS BY CASE DISTINCT ELSE EXCEPT EXISTS FROM HAVING IN INTERSECT JOIN LATERAL MATERIALIZED MINUS NOT
    ON OR SELECT SETMINUS SOME STREAM TABLE THEN UNION USING VALUES WHEN WHERE""".split()  # noqa: SIM905
)
_BEFORE_BY = {"GROUP", "ORDER", "SORT", "CLUSTER", "DISTRIBUTE"}


class _Finder:
    """One pass over the lexemes with a stack of frames."""

    def __init__(self, lexemes: list[lexer.Token]) -> None:
        self._lexemes = lexemes
        self._at = 0
        self._frames = [_Frame()]
        self._found: list[TableReference] = []

    def find(self) -> list[TableReference]:
        while self._at < len(self._lexemes):
            self._step(self._lexemes[self._at], self._frames[-1])
        return self._found

    def _text(self, offset: int) -> str:
        """The word or symbol ``offset`` lexemes on, in upper case; empty outside the text and for literals."""
        at = self._at + offset
        if not 0 <= at < len(self._lexemes):
            return ""
        lexeme = self._lexemes[at]
        return lexeme.upper or (lexeme.text if lexeme.type == lexer.SYMBOL else "")

    def _step(self, lexeme: lexer.Token, frame: _Frame) -> None:
        word = self._text(0)
        named = lexeme.type in (lexer.WORD, lexer.QUOTED)
        if frame.naming and named:
            self._cte(lexeme, frame)
        elif word == "(":
            self._open(frame)
        elif word == ")":
            self._close()
        elif self._text(-1) != "." and self._clause(word, frame):
            frame.start = word in _SET_OPERATORS or (frame.start and word in ("ALL", "DISTINCT"))
            self._at += 1
        elif frame.expecting and named:
            self._relation(frame)
        else:
            if named:
                frame.in_values = False
            frame.start = frame.expecting = False
            self._at += 1

    def _clause(self, word: str, frame: _Frame) -> bool:
        """Take note of a keyword that starts a clause, or of what separates relations; False for all else."""
        if word == "," and frame.in_from:
            frame.expecting = not (frame.in_values and self._text(1) in ("(", "", "-"))
        elif word in ("ALL", "DISTINCT") and frame.start:
            pass
        elif word == "WITH" and (frame.start or self._text(2) == "AS"):
            frame.naming, frame.expecting = True, False
        elif word == "SELECT":
            frame.selecting, frame.in_from, frame.expecting, frame.form = True, False, False, FROM
        elif word == "FROM" and self._is_from_clause(frame):
            frame.selecting, frame.in_from, frame.expecting = False, True, True
        elif word == "JOIN":
            frame.in_from = frame.expecting = True
        elif word == "VALUES" and (frame.start or frame.expecting):
            frame.in_values, frame.expecting = True, False
        elif word == "TABLE" and (frame.start or self._is_argument(frame)):
            frame.form = ARGUMENT if frame.call or self._text(-1) in (",", "=>") else QUERY
            frame.form_start, frame.expecting = self._lexemes[self._at].start, True
        elif word == "LATERAL" and self._text(1) == "VIEW":
            frame.in_from = frame.expecting = False
        elif word == "LATERAL" and frame.expecting:
            pass
        elif self._ends_from(word):
            frame.in_from = frame.expecting = frame.selecting = False
        else:
            return False
        return True

    def _is_argument(self, frame: _Frame) -> bool:
        """Whether an argument of a function starts here: ``f(TABLE t)``, ``f(rows => TABLE(t))``."""
        return not (frame.selecting or frame.in_from) and self._text(-1) in ("(", ",", "=>")

    def _is_from_clause(self, frame: _Frame) -> bool:
        if frame.start:
            return self._text(-2) != "TRIM"  # TRIM(FROM x)
        return frame.selecting and not (self._text(-1) == "DISTINCT" and self._text(-2) in ("IS", "NOT"))

    def _ends_from(self, word: str) -> bool:
        if word == "WINDOW":
            return self._text(2) == "AS"
        if word in _BEFORE_BY:
            return self._text(1) == "BY"
        return word in ("WHERE", "HAVING", "QUALIFY", "|>", ";") or (word in _SET_OPERATORS and not self._drops(0))

    def _drops(self, offset: int) -> bool:
        """Whether ``EXCEPT (columns)`` behind a star stands at the offset, and no set operator."""
        if (self._text(offset), self._text(offset - 1), self._text(offset + 1)) != ("EXCEPT", "*", "("):
            return False
        return self._text(offset + 2) not in _QUERIES or self._text(offset + 3) in (",", ".", ")")

    def _open(self, frame: _Frame) -> None:
        inner = _Frame(expecting=frame.expecting, in_from=frame.expecting)
        if frame.form != FROM and frame.expecting:
            inner.form, frame.form = ENCLOSED, FROM
        before = self._lexemes[self._at - 1] if self._at else None
        inner.start = not self._drops(-1)
        inner.call = before is not None and before.type in (lexer.WORD, lexer.QUOTED) and before.upper not in _NO_CALL
        self._frames.append(inner)
        frame.expecting = frame.start = False
        self._at += 1

    def _close(self) -> None:
        closed = self._frames.pop() if len(self._frames) > 1 else _Frame()
        frame = self._frames[-1]
        self._at += 1
        if closed.cte is not None:
            frame.ctes.add(closed.cte)
            frame.naming = self._text(0) == ","
            frame.start = not frame.naming
            self._at += frame.naming

    def _cte(self, lexeme: lexer.Token, frame: _Frame) -> None:
        """``name [(columns)] [MAX RECURSION LEVEL n] AS [[NOT] MATERIALIZED] (``."""
        self._at += 1
        if lexeme.upper == "RECURSIVE" and self._text(0) not in ("AS", "("):
            frame.recursive = True
            return
        frame.naming = False
        if frame.recursive:
            frame.ctes.add(lexeme.name.lower())
        while self._text(0) not in ("AS", ""):
            self._at += 1
        while self._text(0) not in ("(", ""):
            self._at += 1
        self._frames.append(_Frame(cte=lexeme.name.lower()))
        self._at += 1

    def _relation(self, frame: _Frame) -> None:
        """A table's name, or a table function's."""
        frame.start = frame.expecting = False
        form, frame.form = frame.form, FROM
        start = self._at
        streaming = self._text(0) == "STREAM" and self._streams()
        self._at += streaming
        enclosed = streaming and self._text(0) == "("
        self._at += enclosed
        name = [self._lexemes[self._at].name]
        while self._text(1) == "." and self._at + 2 < len(self._lexemes):
            self._at += 2
            name.append(self._lexemes[self._at].name)
        self._at += 1 + enclosed
        if self._text(0) == "(" or (not streaming and len(name) == 1 and self._is_cte(name[0])):
            return
        end = self._end(self._at)
        suffix = table_suffix(self._lexemes, self._at)
        self._found.append(
            TableReference(
                tuple(name),
                self._lexemes[start].start,
                end,
                streaming,
                suffix.alias,
                suffix.watermark,
                suffix.sample,
                suffix.options,
                self._end(suffix.end),
                form,
                frame.form_start if form == QUERY else 0,
            )
        )

    def _end(self, at: int) -> int:
        """Where in the text the lexeme before the one at ``at`` ends."""
        return self._lexemes[min(at, len(self._lexemes)) - 1].end

    def _streams(self) -> bool:
        """Whether the word STREAM is the keyword and not a table of that name."""
        at = self._at + 1
        if self._text(1) == "(":
            at += 1
            return self._text(3) in (")", ".") and self._lexemes[at].type in (lexer.WORD, lexer.QUOTED)
        return table_suffix(self._lexemes, at).alias and self._text(1) != "AS"

    def _is_cte(self, name: str) -> bool:
        return any(name.lower() in frame.ctes for frame in self._frames)
