"""Flink's expressions are translated to Spark SQL, or rejected with the reason."""

import pytest

from kafka_sql.errors import KafkaSqlError, SchemaError, SqlSyntaxError, UnsupportedSqlError
from kafka_sql.sql.declarations.create import parse_create
from kafka_sql.sql.expressions.binding import bind
from kafka_sql.sql.expressions.typed import UntranslatableError

COLUMNS = """i INT, b BIGINT, n SMALLINT, d DECIMAL(10, 2), big DECIMAL(38, 10), f FLOAT, x DOUBLE, s STRING,
  v VARCHAR(5), o BOOLEAN, day DATE, ts TIMESTAMP(3), ts6 TIMESTAMP(6), tl TIMESTAMP_LTZ(3), tm TIME(3), y BYTES,
  arr ARRAY<INT>, r ROW<a INT, q ROW<`z``` STRING>>, `a b` INT, m INT METADATA FROM 'partition', twice AS i * 2"""


LOCAL = (
    "(TIMESTAMP_NTZ '1970-01-01 00:00:00' + "
    "INTERVAL '0.000001' SECOND * unix_micros(from_utc_timestamp({}, current_timezone())))"
)
INSTANT = (
    "to_utc_timestamp(timestamp_micros(CAST(CAST(CAST(({} - TIMESTAMP_NTZ '1970-01-01 00:00:00') AS INTERVAL SECOND) "
    "AS DECIMAL(20,6)) * 1000000 AS BIGINT)), current_timezone())"
)


def as_bytes(text: str) -> str:
    return f"CAST(X'{text.encode().hex().upper()}' AS STRING)"


def translate(expression: str) -> str | None:
    table = parse_create(f"CREATE TABLE t ({COLUMNS}, c AS {expression}) WITH ('connector' = 'kafka')")
    return table.columns[-1].expression


@pytest.mark.parametrize(
    ("flink", "spark"),
    [
        ("i", "`i`"),
        ("`a b`", "`a b`"),
        ("m", "`m`"),
        ("r.a", "`r`.`a`"),
        ("r.q.`z```", "`r`.`q`.`z```"),
        ("1", "1"),
        ("1.50", "1.50"),
        ("1E3", "1E3D"),
        ("'it''s'", "CAST(X'69742773' AS STRING)"),
        ("'\\d'", "CAST(X'5C64' AS STRING)"),
        ("'a\nb'", "CAST(X'610A62' AS STRING)"),
        ("'${x}'", as_bytes("${x}")),
        ("NULL", "NULL"),
        ("true", "TRUE"),
        ("i + 1", "CAST(((((CAST(`i` AS BIGINT) + 1L) & 4294967295) + 2147483648) & 4294967295) - 2147483648 AS INT)"),
        ("+i", "`i`"),
        ("d * i", "(`d` * CAST(`i` AS DECIMAL(10,0)))"),
        ("x * d", "(`x` * CAST(`d` AS DOUBLE))"),
        ("ts + INTERVAL '1' DAY", "(`ts` + INTERVAL '1' DAY)"),
        ("INTERVAL '1' HOUR + ts", "(`ts` + INTERVAL '1' HOUR)"),
        ("ts - INTERVAL '1 02:03' DAY TO MINUTE", "(`ts` - INTERVAL '1 02:03' DAY TO MINUTE)"),
        ("ts - INTERVAL -'5' SECONDS", "(`ts` - INTERVAL '-5' SECOND)"),
        ("ts - INTERVAL '100' SECOND(3)", "(`ts` - INTERVAL '100' SECOND)"),
        ("tl + INTERVAL '23:59' HOUR TO MINUTE", "(`tl` + INTERVAL '23:59' HOUR TO MINUTE)"),
        ("tl + INTERVAL '1' DAY", "timestamp_micros(unix_micros(`tl`) + 86400000000)"),
        ("tl - INTERVAL '1 00:00:00.5' DAY TO SECOND", "timestamp_micros(unix_micros(`tl`) - 86400500000)"),
        ("i = 1", "(`i` = 1)"),
        ("i <> 1", "(`i` <> 1)"),
        ("i != 1", "(`i` <> 1)"),
        ("s <= 'x'", "(`s` <= 'x')"),
        ("i > NULL", "(`i` > NULL)"),
        ("i = 1 AND b = 2 OR o", "(((`i` = 1) AND (`b` = 2L)) OR `o`)"),
        ("o OR i = 1 AND b = 2", "(`o` OR ((`i` = 1) AND (`b` = 2L)))"),
        ("NOT o AND o", "((NOT `o`) AND `o`)"),
        ("NOT i = 1", "(NOT (`i` = 1))"),
        ("NOT s IS NULL", "(NOT (`s` IS NULL))"),
        ("i = b IS NULL", "((CAST(`i` AS BIGINT) = `b`) IS NULL)"),
        ("s SIMILAR TO 'a|b_%$'", "(`s` RLIKE {})".format(as_bytes(r"\A(?:a|b.(?s:.*)\$)\z"))),
        ("s NOT SIMILAR TO '[^a-c[:digit:]]+'", "(NOT (`s` RLIKE {}))".format(as_bytes(r"\A(?:[^a-c\d]+)\z"))),
        ("s SIMILAR TO '#%#(##[#^]' ESCAPE '#'", "(`s` RLIKE {})".format(as_bytes(r"\A(?:%\(#[\^])\z"))),
        (
            "(ts, ts6) OVERLAPS (ts6, ts)",
            "(if(`ts` <= `ts6`, `ts6`, `ts`) >= if(`ts6` <= `ts`, `ts6`, `ts`) AND "
            "if(`ts6` <= `ts`, `ts`, `ts6`) >= if(`ts` <= `ts6`, `ts`, `ts6`))",
        ),
        ("PRINTF('%05d|%-5s', i, s)", "kafka_sql.printf('%05d|%-5s', struct(`i`, `s`))"),
        ("PARSE_URL(s, 'HOST')", "kafka_sql.parse_url(`s`, 'HOST', NULL)"),
        ("JSON_ARRAY()", "'[]'"),
        ("JSON_ARRAY(i NULL ON NULL)", "concat('[', concat_ws(',', coalesce(CAST(`i` AS STRING), 'null')), ']')"),
        ("JSON_OBJECT('k': (JSON_ARRAY()) ABSENT ON NULL)", "concat('{', concat_ws(',', concat('\"k\":', '[]')), '}')"),
        ("ELT(i, s, v)", "get(array(`s`, `v`), try_subtract(`i`, 1))"),
        ("ARRAY_REMOVE(arr, i)", "filter(`arr`, __1 -> NOT (__1 <=> `i`))"),
        ("s IS NOT NULL", "(NOT (`s` IS NULL))"),
        ("i IN (1, 2)", "(`i` IN (1, 2))"),
        ("s NOT IN ('a')", "(NOT (`s` IN ('a')))"),
        ("i BETWEEN 1 AND 2 AND o", "(((`i` >= 1) AND (`i` <= 2)) AND `o`)"),
        ("i NOT BETWEEN 1 AND 2", "(NOT ((`i` >= 1) AND (`i` <= 2)))"),
        ("s LIKE 'a%'", "(`s` LIKE 'a%')"),
        ("s NOT LIKE 'a_'", "(NOT (`s` LIKE 'a_'))"),
        ("CASE WHEN i > 1 THEN 'a' WHEN o THEN 'b' END", "(CASE WHEN (`i` > 1) THEN 'a' WHEN `o` THEN 'b' END)"),
        ("CASE i WHEN 1 THEN b ELSE NULL END", "(CASE WHEN (`i` = 1) THEN `b` ELSE NULL END)"),
        ("COALESCE(s, v, 'x')", "coalesce(`s`, `v`, 'x')"),
        ("nullif(i, 0)", "if((`i` = 0), NULL, `i`)"),
        ("IF(o, i, b)", "(CASE WHEN `o` THEN CAST(`i` AS BIGINT) ELSE `b` END)"),
        ("s || v || 'x'", "concat(concat(`s`, `v`), 'x')"),
        ("CONCAT(s, NULL)", "concat(`s`, NULL)"),
        ("UPPER(LOWER(TRIM(s)))", "upper(lower(trim(`s`)))"),
        ("SUBSTRING(s, 2)", "substring(`s`, 2)"),
        ("SUBSTRING(s, 2, 3)", "substring(`s`, 2, 3)"),
        ("SUBSTRING(s FROM 2 FOR 3)", "substring(`s`, 2, 3)"),
        ("ABS(d)", "abs(`d`)"),
        ("PROCTIME()", "current_timestamp()"),
        ("CURRENT_TIMESTAMP", "current_timestamp()"),
        ("NOW()", "current_timestamp()"),
        ("TO_TIMESTAMP_LTZ(b, 3)", "if(`b` BETWEEN -62135596800000 AND 253402300799999, timestamp_millis(`b`), NULL)"),
        ("TO_TIMESTAMP_LTZ(i, 0)", "timestamp_seconds(`i`)"),
        ("CAST(i AS BIGINT)", "CAST(`i` AS BIGINT)"),
        ("CAST(i AS VARCHAR)", "CAST(`i` AS STRING)"),
        ("CAST(o AS STRING)", "upper(CAST(`o` AS STRING))"),
        ("CAST(NULL AS ROW<a INT>)", "CAST(NULL AS STRUCT<`a`: INT>)"),
        ("TRY_CAST(i AS BIGINT)", "CAST(`i` AS BIGINT)"),
        ("CAST(day AS TIMESTAMP(3))", "CAST(`day` AS TIMESTAMP_NTZ)"),
        ("CAST(tl AS TIMESTAMP(3))", f"CAST({LOCAL.format('`tl`')} AS TIMESTAMP_NTZ)"),
        ("CAST(ts AS TIMESTAMP_LTZ)", INSTANT.format("`ts`")),
        (
            "CAST(tl AS TIMESTAMP_LTZ(0))",  # Flink rounds times before 1970 in UTC
            "if({0} < TIMESTAMP_NTZ '1970-01-01 00:00:00', raise_error(concat('CAST to TIMESTAMP_LTZ(0) of a timestamp "
            "before 1970, which Flink rounds up: ', CAST({0} AS STRING))), "
            "(`tl` - make_dt_interval(0, 0, 0, extract(SECOND FROM `tl`) % 1)))".format(
                "(TIMESTAMP_NTZ '1970-01-01 00:00:00' + INTERVAL '0.000001' SECOND * unix_micros(`tl`))"
            ),
        ),
        ("day", "`day`"),
        ("i / 2", "CAST((`i` div 2) AS INT)"),
        ("GREATEST(i, 2)", "if(`i` IS NULL, NULL, greatest(`i`, 2))"),
        ("LEAST(i, 2, b)", "if(`i` IS NULL OR `b` IS NULL, NULL, least(CAST(`i` AS BIGINT), 2L, `b`))"),
        ("GREATEST(1, 2)", "greatest(1, 2)"),
        ("GREATEST(s)", "`s`"),
        ("i % 2", "CAST((`i` % 2) AS INT)"),
        ("MOD(i, 2)", "CAST((`i` % 2) AS INT)"),
        ("arr[1]", "get(`arr`, 0)"),
        ("ROW(1, 2)", "named_struct('EXPR$0', 1, 'EXPR$1', 2)"),
        ("LOCALTIMESTAMP", LOCAL.format("current_timestamp()")),
        ("TRIM(BOTH 'x' FROM s)", "trim(BOTH 'x' FROM `s`)"),
        ("s LIKE 'a!%' ESCAPE '!'", "(`s` LIKE {})".format(as_bytes("a\\%"))),
        ("s LIKE v", "(`s` LIKE replace(`v`, {}, {}))".format(as_bytes("\\"), as_bytes("\\\\"))),
        ("s LIKE 'a\\%'", "(`s` LIKE {})".format(as_bytes("a\\\\%"))),
        ("o IS TRUE", "(`o` IS TRUE)"),
        ("i IS DISTINCT FROM 1", "(NOT (`i` <=> 1))"),
        ("i IS NOT DISTINCT FROM 1", "(NOT (NOT (`i` <=> 1)))"),
        ("SUBSTRING(s, -2)", "CASE WHEN -2 < - char_length(`s`) THEN '' ELSE substring(`s`, -2) END"),
        ("SUBSTRING(s, i)", "CASE WHEN `i` < - char_length(`s`) THEN '' ELSE substring(`s`, `i`) END"),
        ("i + f", "(CAST(`i` AS FLOAT) + `f`)"),
        ("f > 1", "(`f` > 1F AND NOT isnan(`f`))"),
        ("day + INTERVAL '1' DAY", "date_add(`day`, 1)"),
        ("ts + INTERVAL '1' MONTH", "(`ts` + INTERVAL '1' MONTH)"),
        (
            "CAST(ts AS STRING)",
            "regexp_replace(concat(regexp_replace(CAST(`ts` AS STRING), '(:[0-9]{2})$', '$1.'), '000'), "
            "'([.][0-9]{3})[0-9]*$', '$1')",
        ),
        ("CAST(s AS VARCHAR(3))", "substring(`s`, 1, 3)"),
        ("CAST(s AS CHAR)", "rpad(`s`, 1, ' ')"),
        (
            "TRY_CAST(b AS INT)",
            "CAST((((CAST(`b` AS BIGINT) & 4294967295) + 2147483648) & 4294967295) - 2147483648 AS INT)",
        ),
        ("-1", "-1"),
        ("-1.5", "(- 1.5)"),
        ("- -1.5", "(- (- 1.5))"),
        ("-.5", "(- .5)"),
        ("-0.5", "(- CAST(0.5 AS DECIMAL(2,1)))"),
        ("-1e3", "(- 1e3D)"),
        ("ABS(-1.5)", "abs((- 1.5))"),
        ("x > -1e3", "(`x` > (- 1e3D) AND NOT isnan(`x`))"),
        ("d BETWEEN -1.5 AND 1.5", "((`d` >= CAST((- 1.5) AS DECIMAL(10,2))) AND (`d` <= CAST(1.5 AS DECIMAL(10,2))))"),
        ("CASE WHEN d > -1.55 THEN -1 END", "(CASE WHEN (`d` > CAST((- 1.55) AS DECIMAL(10,2))) THEN -1 END)"),
        ("-2147483648", "(-2147483648)"),
        ("-(-2147483648)", "(-2147483648)"),
        ("- -2147483648", "(-2147483648)"),
        ("-(-(-2147483648))", "(-2147483648)"),
        ("-9223372036854775808", "(-9223372036854775808)"),
        ("-(-9223372036854775808)", "(-9223372036854775808)"),
        ("-2147483649", "-2147483649"),
        ("-(2147483648)", "-2147483648L"),
        ("0" * 5000 + "7", "7"),
    ],
)
def test_supported_expressions(flink: str, spark: str) -> None:
    assert translate(flink) == spark


@pytest.mark.parametrize(
    ("flink", "message"),
    [
        ("f * x", "FLOAT * DOUBLE has type FLOAT in Flink, but DOUBLE in Spark; CAST one of them."),
        ("UPER(s)", "function UPER is not supported. Did you mean 'UPPER'?"),
        ("my_udf(i)", "function MY_UDF is not supported."),
        ("JSON_QUERY(s, '$..a')", "JSON_QUERY requires a path of names, indexes and wildcards, such as"),
        ("JSON_QUERY(s, '$.a[?(@.b)]')", "or 'lax $.ids[*]', but got '$.a[?(@.b)]'"),
        ("JSON_QUERY(s, '$.a' RETURNING ARRAY<INT>)", "RETURNING ARRAY is not supported; use ARRAY<STRING>"),
        ("JSON_QUERY(s, '$' RETURNING ARRAY<STRING> EMPTY OBJECT ON ERROR)", "EMPTY OBJECT ON ERROR is not an ARRAY"),
        ("JSON(s)", "function JSON is supported only as an argument of JSON_OBJECT and JSON_ARRAY, as in Flink"),
        ("JSON_OBJECT(s VALUE i)", "JSON_OBJECT requires keys that are string literals"),
        ("JSON_ARRAY(NULL)", "JSON_ARRAY requires values with a type, but got NULL; CAST it"),
        ("JSON_STRING(day)", "DATE cannot be converted into JSON, as in Flink; CAST it to STRING"),
        ("JSON_STRING(MAP[1, 2])", "the keys of a MAP in JSON must be strings, but they are INT"),
        ("STR_TO_MAP(s, ',')", "STR_TO_MAP requires 1 or 3 arguments, but got 2"),
        ("MAP_UNION(MAP['a', i], MAP['a', b])", "MAP_UNION of BIGINT and INT is not supported; CAST the elements"),
        ("MAP_ENTRIES(arr)", "MAP_ENTRIES requires MAP, but got ARRAY; CAST the argument"),
        ("MAP_FROM_ARRAYS(arr, NULL)", "MAP_FROM_ARRAYS requires ARRAY, but got NULL"),
        ("ELT(b, s, v)", "ELT requires an INT, but got BIGINT; CAST the index"),
        ("ELT(i, i)", "ELT requires strings or BYTES, but got INT; CAST the argument"),
        ("TIMESTAMPDIFF(MONTH, ts, day)", "TIMESTAMPDIFF(MONTH, ...) requires two values of the same type; CAST one"),
        (
            "TIMESTAMPDIFF(YEAR, tl, tl)",
            "TIMESTAMPDIFF(YEAR, ...) requires TIMESTAMP or DATE, but got TIMESTAMP_LTZ(3)",
        ),
        ("PRINTF(s, i)", "PRINTF requires a format that is a non-empty string literal"),
        ("PRINTF('%s', day)", "PRINTF: argument 1 is DATE; CAST it to STRING"),
        ("PRINTF('%d%%%-5h', i, s)", "PRINTF: '%-5h' is not supported; use %s %b %c %d"),
        ("s SIMILAR TO v", "SIMILAR TO requires a pattern that is a literal"),
        ("i SIMILAR TO 'a'", "SIMILAR TO requires strings, but got INT"),
        ("s SIMILAR TO 'a' ESCAPE 'xy'", "ESCAPE of SIMILAR TO requires a single character that is a literal"),
        ("s SIMILAR TO 'a' ESCAPE ':'", "SIMILAR TO 'a': the character ':' is not supported"),
        ("s SIMILAR TO 'a(b'", "SIMILAR TO 'a(b': invalid regular expression at index 3; use REGEXP"),
        ("s SIMILAR TO 'a)(b'", "SIMILAR TO 'a)(b': invalid regular expression at index 1"),
        ("s SIMILAR TO '[a%]'", "SIMILAR TO '[a%]': invalid regular expression at index 2"),
        ("s SIMILAR TO '[\\d]'", "invalid regular expression at index 1"),
        ("s SIMILAR TO '[[:x:]]'", "invalid regular expression at index 1"),
        ("s SIMILAR TO '[a'", "invalid regular expression at index 2"),
        ("s SIMILAR TO 'a]'", "invalid regular expression at index 1"),
        ("s SIMILAR TO 'a#b' ESCAPE '#'", "invalid regular expression at index 1"),
        ("s SIMILAR TO 'a\\\\b' ESCAPE '\\'", "invalid regular expression at index 1"),
        ("s SIMILAR TO 'a#' ESCAPE '#'", "invalid regular expression at index 1"),
        ("(ts, tl) OVERLAPS (ts, tl)", "OVERLAPS requires four values of the same type; CAST them"),
        ("(i, b) OVERLAPS (i, b)", "OVERLAPS requires dates or timestamps, but got INT"),
        ("ts OVERLAPS (ts, ts)", "OVERLAPS requires pairs such as (start_time, end_time)"),
        ("(day, INTERVAL '1' HOUR) OVERLAPS (day, day)", "operator + with a DATE requires an INTERVAL of full days"),
        ("(ts, ts)", "a pair is supported only as an operand of OVERLAPS"),
        ("CONVERT_TZ(s, 'UTC')", "CONVERT_TZ requires 3 arguments, but got 2"),
        ("CONVERT_TZ(ts, 'UTC', 'UTC')", "CONVERT_TZ requires strings, but got TIMESTAMP(3)"),
        ("CONVERT_TZ(s, v, 'UTC')", "CONVERT_TZ requires a time zone that is a non-empty string literal"),
        ("CONVERT_TZ(s, 'UTC', 'PST')", "CONVERT_TZ: the time zone 'PST' is not supported; use UTC, a name such as"),
        ("CONVERT_TZ(s, 'UTC', '+02:00')", "CONVERT_TZ: the time zone '+02:00' is not supported"),
        ("CONVERT_TZ(s, 'Africa/Casablanca', 'UTC')", "CONVERT_TZ with Africa/Casablanca is not supported"),
        ("TO_TIMESTAMP_LTZ(s, v)", "TO_TIMESTAMP_LTZ requires a pattern that is a non-empty string literal"),
        ("TO_TIMESTAMP_LTZ(b, 3, 'UTC')", "TO_TIMESTAMP_LTZ of a number requires 1 to 2 arguments, but got 3"),
        ("TIMESTAMPDIFF(WEEK, ts, day)", "TIMESTAMPDIFF requires TIMESTAMP or TIMESTAMP_LTZ, but got DATE"),
        ("FLOOR(tl TO CENTURY)", "FLOOR(... TO CENTURY) of TIMESTAMP_LTZ is off by an hour in Flink"),
        ("CEIL(tl TO QUARTER)", "CEIL(... TO QUARTER) requires TIMESTAMP or DATE, but got TIMESTAMP_LTZ(3)"),
        ("CEIL(day TO WEEK)", "CEIL(... TO WEEK) of a DATE is not supported"),
        ("i IS JSON", "IS JSON requires strings, but got INT; CAST the argument"),
        (
            "JSON_VALUE(s, '$.a' RETURNING DATE)",
            "RETURNING DATE is not supported; use STRING, INTEGER, DOUBLE, BOOLEAN",
        ),
        ("JSON_VALUE(s, '$.a' RETURNING VARCHAR(3))", "RETURNING VARCHAR(n) is not supported"),
        ("JSON_VALUE(s, '$.a' RETURNING INT DEFAULT 'x' ON EMPTY)", "DEFAULT of JSON_VALUE with RETURNING"),
        (
            "JSON_VALUE(s, '$.a[0:2]')",
            "JSON_VALUE requires a path of names, indexes and wildcards, such as '$.items[0]",
        ),
        ("JSON_EXISTS(i, '$.a')", "JSON_EXISTS requires strings, but got INT"),
        ("CAST(s AS TIMESTAMP(9))", "would drop nanoseconds, which Spark does not have; CAST it to TIMESTAMP(6)"),
        ("ARRAY_CONTAINS(arr, s)", "ARRAY_CONTAINS: the elements are INT, but got STRING; CAST it"),
        ("ARRAY_CONTAINS(arr, b)", "BIGINT does not fit the elements, which are INT; CAST it"),
        ("ENCODE(s, 'UTF-7')", "ENCODE supports only the character sets UTF-8, UTF-16, ISO-8859-1, US-ASCII"),
        ("SUBSTRING(i, 1)", "SUBSTRING requires strings, but got INT; CAST the argument."),
        ("UPPER(i)", "UPPER requires strings, but got INT; CAST the argument"),
        ("UPPER()", "UPPER requires 1 argument, but got 0"),
        ("COALESCE()", "COALESCE requires at least 1 argument, but got 0"),
        ("SUBSTRING(s)", "SUBSTRING requires 2 to 3 arguments, but got 1"),
        ("s || i", "CONCAT requires strings, but got INT"),
        ("ABS(s)", "ABS requires a number, but got STRING"),
        ("s + 1", "operator + requires numbers, but got STRING"),
        ("-s", "operator - requires numbers, but got STRING"),
        ("ts - ts", "operator - requires numbers, but got TIMESTAMP(3)"),
        ("big = CAST(d AS DECIMAL(38, 20))", "DECIMAL(38, 10) and DECIMAL(38, 20) together need 48 digits"),
        (
            "ts + INTERVAL '1' SECOND TO DAY",
            "INTERVAL '1' SECOND TO DAY: unsupported unit. Use YEAR, QUARTER, MONTH, WEEK, DAY, HOUR, MINUTE, ",
        ),
        ("ts + INTERVAL 'x' DAY", "INTERVAL 'x' DAY: invalid value for this unit"),
        ("INTERVAL '1' DAY", "an INTERVAL is supported only as an operand of + or - with a timestamp"),
        ("i = s", "INT and STRING are not compatible; CAST one of them"),
        ("ts = tl", "TIMESTAMP(3) and TIMESTAMP_LTZ(3) are not compatible"),
        ("CASE WHEN o THEN 1 ELSE 'x' END", "INT and STRING are not compatible"),
        ("CASE WHEN i THEN 1 END", "WHEN requires BOOLEAN, but got INT"),
        ("NOT i", "NOT requires BOOLEAN, but got INT"),
        ("i AND o", "AND requires BOOLEAN, but got INT"),
        ("IF(i, 1, 2)", "IF requires BOOLEAN, but got INT."),
        ("arr = arr", "values of type ARRAY cannot be compared."),
        ("i IN ()", "IN needs at least one value"),
        ("TO_TIMESTAMP_LTZ(b, 6)", "TO_TIMESTAMP_LTZ requires 0 (seconds) or 3 (milliseconds)"),
        ("TO_TIMESTAMP_LTZ(x, 3)", "TO_TIMESTAMP_LTZ requires an INT or BIGINT or strings, but got DOUBLE; CAST"),
        ("CAST(arr AS STRING)", "CAST of ARRAY to STRING is not supported."),
        ("TIME '10:00:00'", "TIME literals are not supported"),
        ("9223372036854775808", "9223372036854775808 does not fit a BIGINT"),
        ("1" * 5000, "11111111111111111111... (5000 characters) does not fit a BIGINT"),
        ("-" + "1" * 5000, "11111111111111111111... (5000 characters) does not fit a BIGINT"),
        ("1" * 5000 + ".5", "11111111111111111111... (5002 characters) has more digits than the 38 of DECIMAL"),
        ("-1e999", "1e999 does not fit a DOUBLE"),
        ("ts - INTERVAL '" + "1" * 5000 + "' DAY", "INTERVAL '11111111111111111111...' DAY: invalid value"),
        ("s.a", "'.a' requires a ROW, but got STRING"),
    ],
)
def test_unsupported_expressions(flink: str, message: str) -> None:
    with pytest.raises(UnsupportedSqlError) as e:
        translate(flink)
    assert message in str(e.value)
    assert str(e.value).startswith("[UNSUPPORTED_SQL] Computed column 'c': ")


@pytest.mark.parametrize(
    ("flink", "error", "message"),
    [
        ("nope + 1", SchemaError, "Computed column 'c': column 'nope' not found"),
        ("I", SchemaError, "names are case-sensitive"),
        ("twice", SchemaError, "column 'twice' not found"),
        ("r.A", SchemaError, "`r` has no field 'A'"),
        ("CAST(i AS INTT)", SchemaError, "Column 'c': unknown type 'INTT'. Did you mean 'INT'?"),
        ("CAST(i AS INTERVAL DAY)", SchemaError, "Column 'c': type INTERVAL DAY is not supported"),
        ("CASE WHEN o 1 END", SqlSyntaxError, "expected THEN in CASE"),
        ("CASE END", SqlSyntaxError, "expected an expression"),
        ("CASE i END", SqlSyntaxError, "expected WHEN in CASE"),
        ("CASE WHEN o THEN 1", SqlSyntaxError, "expected WHEN, ELSE or END in CASE"),
        ("i BETWEEN 1", SqlSyntaxError, "expected AND in BETWEEN"),
        ("i < b < 3", SqlSyntaxError, "chained comparisons need parentheses"),
        ("i NOT 3", SqlSyntaxError, "expected BETWEEN, IN, LIKE or SIMILAR TO after NOT"),
        ("i IS 3", SqlSyntaxError, "expected NULL, TRUE, FALSE, UNKNOWN, JSON or DISTINCT FROM after IS [NOT]"),
        ("JSON_QUERY(s, '$' WITH CONDITIONAL)", SqlSyntaxError, "expected [ARRAY] WRAPPER in JSON_QUERY"),
        ("JSON_QUERY(s, '$' EMPTY ARRAY ON NULL)", SqlSyntaxError, "expected ON ERROR in JSON_QUERY"),
        ("JSON_OBJECT('k', s)", SqlSyntaxError, "expected VALUE after the key in JSON_OBJECT"),
        ("JSON_ARRAY(i s)", SqlSyntaxError, "expected ',' or ')' in JSON_ARRAY"),
        ("JSON_ARRAY(i NULL ON NULL, s)", SqlSyntaxError, "expected ')' after the arguments of JSON_ARRAY"),
        ("i IN 3", SqlSyntaxError, "expected a list in parentheses after IN"),
        ("(SELECT 1)", SqlSyntaxError, "a computed column cannot contain a subquery"),
        ("i +", SqlSyntaxError, "expected an expression"),
        ("(i, 1, 2)", SqlSyntaxError, "expected ')'"),
        ("arr[1", SqlSyntaxError, "expected ']'"),
        ("CAST(i INT)", SqlSyntaxError, "expected AS and a type"),
        ("CAST(i AS INT x)", SqlSyntaxError, "expected ')' after the type of CAST"),
        ("SUBSTRING(s FROM 1 TO 2)", SqlSyntaxError, "expected ')' after the arguments of SUBSTRING"),
        ("COALESCE(i b)", SqlSyntaxError, "expected ',' or ')'"),
        ("ts + INTERVAL 5 SECOND", SqlSyntaxError, "expected the length of the interval in single quotes"),
        ("ts + INTERVAL '5'", SqlSyntaxError, "expected a unit such as SECOND"),
        ('i + "b"', SqlSyntaxError, "expected an expression"),
        ("i::STRING", SqlSyntaxError, "expected ',' or ')' in the column list"),
    ],
)
def test_invalid_expressions(flink: str, error: type[KafkaSqlError], message: str) -> None:
    with pytest.raises(error) as e:
        translate(flink)
    assert message in str(e.value)


def test_the_size_of_an_expression_is_limited() -> None:
    def bound(length: int) -> str:
        return bind("f(`i`)", lambda x: x + "x" * length)

    longest = 200_000 - len(bound(0))
    assert len(bound(longest)) == 200_000
    with pytest.raises(UntranslatableError, match="nested too deeply; split it into several computed columns"):
        bound(longest + 1)


@pytest.mark.parametrize(
    ("type", "error"),
    [("DATE", "DateTimeException: not a valid DATE"), ("INT", "NumberFormatException: not a valid INT")],
)
def test_the_error_of_a_cast_names_the_type(type: str, error: str) -> None:
    assert f"{error}. For input string: " in str(translate(f"CAST(s AS {type})"))
