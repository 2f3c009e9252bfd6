"""Find table names in a query by position, so that edits leave all other text as written.

CTE names are not table references; their scope is from the end of the CTE (from its start after RECURSIVE) to the end
of the enclosing query. Table functions, VALUES and subqueries are not references either, and ``IDENTIFIER('t')`` is not
examined.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from kafka_sql.sql.recognize.lexer import Token
from kafka_sql.sql.recognize.query_text import SET_OPERATORS, WORDS_BEFORE_BY, QueryText
from kafka_sql.sql.recognize.table_suffix import AsOf, TableSuffix, join_words, parse_table_suffix

FROM, QUERY, ARGUMENT, ENCLOSED = "from", "query", "argument", "enclosed argument"


@dataclass(frozen=True)
class TableReference:
    """A table name in a query, or a call of a table function.

    In ``SELECT * FROM STREAM db.t AS x``, for example, the name is ``("db", "t")``, the position is that of
    ``STREAM db.t``, ``is_stream`` is True, and the suffix has an alias.

    Attributes:
        name: the parts of the name.
        start, end: position of the name or the call, including the keyword STREAM: ``text[start:end]``.
        is_stream: whether the keyword STREAM precedes: ``STREAM t`` or ``STREAM(t)``.
        suffix: the clauses that follow.
        alias_position: offset in the text where an alias is or could be.
        form: syntactic context: FROM, QUERY (``TABLE t``), ARGUMENT (``f(TABLE t)``) or ENCLOSED (``f(TABLE(t))``).
        form_start: offset of the keyword TABLE if the form is QUERY.
        as_of: ``FOR SYSTEM_TIME AS OF column`` follows.
        parenthesis: index of the token that opens the arguments of a call; 0 for a table.
    """

    name: tuple[str, ...]
    start: int
    end: int
    is_stream: bool = False
    suffix: TableSuffix = field(default=TableSuffix(0), compare=False)
    alias_position: int = 0
    form: str = FROM
    form_start: int = 0
    as_of: AsOf | None = None
    parenthesis: int = 0


def find_table_references(query: QueryText, sources: Sequence[range] = ()) -> list[TableReference]:
    """Return the table names in a query, in text order.

    Args:
        sources: the relations that windows read, which will be relations in the FROM of a subquery.
    """
    return [reference for reference in find_relations(query, sources) if not reference.parenthesis]


def find_relations(query: QueryText, sources: Sequence[range] = ()) -> list[TableReference]:
    """Return the table names in a query, and the calls of table functions without a database, in text order."""
    return _ReferenceFinder(query, sources).find()


@dataclass
class _Frame:
    """Parser state within one pair of parentheses."""

    query_may_start: bool = True
    expects_relation: bool = False
    in_from: bool = False  # a comma separates relations
    in_select_list: bool = False  # between SELECT and its FROM
    in_values: bool = False  # a comma separates rows
    expects_cte_name: bool = False
    is_recursive: bool = False
    is_call: bool = False  # the parentheses of a function call
    form: str = FROM  # of the next relation
    form_start: int = 0
    cte: str | None = None  # the CTE whose body this is
    ctes: set[str] = field(default_factory=set)


_QUERIES = {"SELECT", "FROM", "TABLE", "VALUES", "WITH", "("}
# Words before a parenthesis that are not function names.
_NOT_FUNCTIONS = set(
    """ALL AND ANY AS BY CASE DISTINCT ELSE EXCEPT EXISTS FROM HAVING IN INTERSECT JOIN LATERAL MATERIALIZED MINUS NOT
    ON OR SELECT SETMINUS SOME STREAM TABLE THEN UNION USING VALUES WHEN WHERE""".split()  # noqa: SIM905
)


class _ReferenceFinder:
    """Find references in one pass over the tokens, with a stack of frames."""

    def __init__(self, query: QueryText, sources: Sequence[range]) -> None:
        self._query, self._tokens = query, query.tokens
        self._source_starts = {source.start for source in sources}
        self._source_ends = {source.stop for source in sources}
        self._index = 0
        self._frames = [_Frame()]
        self._references: list[TableReference] = []

    def find(self) -> list[TableReference]:
        while self._index < len(self._tokens):
            frame = self._frames[-1]
            if self._index in self._source_starts:
                frame.expects_relation, frame.form = True, FROM
            self._handle_token(self._tokens[self._index], frame)
        return self._references

    def _text(self, offset: int) -> str:
        """Return the word or symbol ``offset`` tokens ahead."""
        return self._query.word(self._index + offset)

    def _handle_token(self, token: Token, frame: _Frame) -> None:
        word = self._text(0)
        is_name = token.is_identifier
        if frame.expects_cte_name and is_name:
            self._read_cte_name(token, frame)
        elif word == "(":
            self._open_parenthesis(frame)
        elif word == ")":
            self._close_parenthesis()
        elif self._text(-1) != "." and self._handle_clause(word, frame):
            frame.query_may_start = word in SET_OPERATORS or (frame.query_may_start and word in ("ALL", "DISTINCT"))
            self._index += 1
        elif frame.expects_relation and is_name:
            self._read_relation(frame)
        else:
            if is_name:
                frame.in_values = False
            frame.query_may_start = frame.expects_relation = False
            self._index += 1

    def _handle_clause(self, word: str, frame: _Frame) -> bool:
        """Update the frame for a keyword that starts a clause or for a separator; return False for other tokens."""
        if word == "," and frame.in_from:
            frame.expects_relation = not (frame.in_values and self._text(1) in ("(", "", "-"))
        elif word in ("ALL", "DISTINCT") and frame.query_may_start:
            pass
        elif word == "WITH" and (frame.query_may_start or self._text(2) == "AS"):
            frame.expects_cte_name, frame.expects_relation = True, False
        elif word == "SELECT":
            frame.in_select_list, frame.in_from, frame.expects_relation, frame.form = True, False, False, FROM
        elif word == "FROM" and self._is_from_clause(frame):
            frame.in_select_list, frame.in_from, frame.expects_relation = False, True, True
        elif word == "JOIN":
            frame.in_from = frame.expects_relation = True
        elif word == "VALUES" and (frame.query_may_start or frame.expects_relation):
            frame.in_values, frame.expects_relation = True, False
        elif word == "TABLE" and (frame.query_may_start or self._is_argument(frame)):
            frame.form = ARGUMENT if frame.is_call or self._text(-1) in (",", "=>") else QUERY
            frame.form_start, frame.expects_relation = self._tokens[self._index].start, True
        elif word == "LATERAL" and self._text(1) == "VIEW":
            frame.in_from = frame.expects_relation = False
        elif word == "LATERAL" and frame.expects_relation:
            pass
        elif self._ends_from(word):
            frame.in_from = frame.expects_relation = frame.in_select_list = False
        else:
            return False
        return True

    def _is_argument(self, frame: _Frame) -> bool:
        """Return whether a table argument of a function starts here: ``f(TABLE t)``, ``f(rows => TABLE(t))``."""
        return not (frame.in_select_list or frame.in_from) and self._text(-1) in ("(", ",", "=>")

    def _is_from_clause(self, frame: _Frame) -> bool:
        if frame.query_may_start:
            return self._text(-2) != "TRIM"  # TRIM(FROM x)
        return frame.in_select_list and not (self._text(-1) == "DISTINCT" and self._text(-2) in ("IS", "NOT"))

    def _ends_from(self, word: str) -> bool:
        if word == "WINDOW":
            return self._text(2) == "AS"
        if word in WORDS_BEFORE_BY:
            return self._text(1) == "BY"
        return word in ("WHERE", "HAVING", "QUALIFY", "|>", ";") or (
            word in SET_OPERATORS and not self._is_star_except(0)
        )

    def _is_star_except(self, offset: int) -> bool:
        """Return whether EXCEPT at the offset is ``* EXCEPT (columns)`` and not a set operator."""
        if (self._text(offset), self._text(offset - 1), self._text(offset + 1)) != ("EXCEPT", "*", "("):
            return False
        return self._text(offset + 2) not in _QUERIES or self._text(offset + 3) in (",", ".", ")")

    def _open_parenthesis(self, frame: _Frame) -> None:
        inner = _Frame(expects_relation=frame.expects_relation, in_from=frame.expects_relation)
        if frame.form != FROM and frame.expects_relation:
            inner.form, frame.form = ENCLOSED, FROM
        inner.query_may_start = not self._is_star_except(-1)
        previous = self._tokens[self._index - 1] if self._index else None
        inner.is_call = previous is not None and previous.is_identifier and previous.upper not in _NOT_FUNCTIONS
        self._frames.append(inner)
        frame.expects_relation = frame.query_may_start = False
        self._index += 1

    def _close_parenthesis(self) -> None:
        closed = self._frames.pop() if len(self._frames) > 1 else _Frame()
        frame = self._frames[-1]
        self._index += 1
        if closed.cte is not None:
            frame.ctes.add(closed.cte)
            frame.expects_cte_name = self._text(0) == ","
            frame.query_may_start = not frame.expects_cte_name
            if frame.expects_cte_name:
                self._index += 1

    def _read_cte_name(self, token: Token, frame: _Frame) -> None:
        """Read ``name [(columns)] [MAX RECURSION LEVEL n] AS [[NOT] MATERIALIZED] (``."""
        self._index += 1
        if token.upper == "RECURSIVE" and self._text(0) not in ("AS", "("):
            frame.is_recursive = True
            return
        frame.expects_cte_name = False
        if frame.is_recursive:
            frame.ctes.add(token.name.lower())
        while self._text(0) not in ("AS", ""):
            self._index += 1
        while self._text(0) not in ("(", ""):
            self._index += 1
        self._frames.append(_Frame(cte=token.name.lower()))
        self._index += 1

    def _read_relation(self, frame: _Frame) -> None:
        """Read the name of a table or table function; add a table to the references."""
        frame.query_may_start = frame.expects_relation = False
        form, frame.form = frame.form, FROM
        start, is_stream, is_enclosed = self._index, False, False
        if self._text(0) == "STREAM" and self._is_stream_keyword():
            is_stream, is_enclosed = True, self._text(1) == "("
            self._index += 2 if is_enclosed else 1
        name = [self._tokens[self._index].name]
        while self._text(1) == "." and self._index + 2 < len(self._tokens):
            self._index += 2
            name.append(self._tokens[self._index].name)
        self._index += 2 if is_enclosed else 1
        parenthesis = self._index if self._text(0) == "(" else 0
        is_cte = not is_stream and not parenthesis and len(name) == 1
        is_cte = is_cte and any(name[0].lower() in outer.ctes for outer in self._frames)
        if is_cte or (parenthesis and len(name) > 1):
            return
        after = self._query.closing(parenthesis) + 1 if parenthesis else self._index
        suffix = TableSuffix(after) if after in self._source_ends else parse_table_suffix(self._query, after)
        self._references.append(
            TableReference(
                tuple(name),
                self._tokens[start].start,
                self._end_of(after),
                is_stream,
                suffix,
                alias_position=self._end_of(suffix.end),
                form=form,
                form_start=frame.form_start if form == QUERY else 0,
                as_of=suffix.as_of and replace(suffix.as_of, join=join_words(self._query, start)),
                parenthesis=parenthesis,
            )
        )

    def _end_of(self, index: int) -> int:
        """Return the end offset of the token before ``index``."""
        return self._tokens[min(index, len(self._tokens)) - 1].end

    def _is_stream_keyword(self) -> bool:
        """Return whether the word STREAM is the keyword and not a table name."""
        if self._text(1) == "(":
            return self._text(3) in (")", ".") and self._tokens[self._index + 2].is_identifier
        if self._index + 1 in self._source_ends:
            return False
        return parse_table_suffix(self._query, self._index + 1).has_alias and self._text(1) != "AS"
