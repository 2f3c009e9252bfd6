"""Event-time temporal joins of continuous queries: a row waits for the watermark, and joins the version of its time."""

from __future__ import annotations

import json
import re
from typing import Any

import pytest

from kafka_sql.errors import CheckpointError, UnsupportedSqlError
from tests.topics import Topics

pytestmark = pytest.mark.integration

JOIN = """SELECT o.id, r.rate FROM orders AS o
    {} rates FOR SYSTEM_TIME AS OF o.ts AS r ON o.currency = r.currency"""


class Pipeline:
    """Orders, the versions of rates, and the table of their join."""

    def __init__(
        self, spark: Any, streaming: Any, topics: Topics, time_type: str = "TIMESTAMP(3)", **sink_options: str
    ) -> None:
        self.spark, self.sql, self.topics = spark, streaming, topics
        self.orders, self.rates, self.result = topics.create(2), topics.create(2), topics.create()
        self.sql(
            f"""CREATE TABLE orders (id INT, currency STRING, price INT, ts {time_type},
            WATERMARK FOR ts AS ts - INTERVAL '5' SECOND) {topics.with_options(self.orders)}"""
        )
        self.sql(
            f"""CREATE TABLE rates (currency STRING, rate INT, valid {time_type}, doubled AS rate * 2,
            WATERMARK FOR valid AS valid, PRIMARY KEY (currency) NOT ENFORCED)
            {topics.with_upsert_options(self.rates)}"""
        )
        self.sql(f"CREATE TABLE result (id INT, rate INT) {topics.with_options(self.result, **sink_options)}")
        self.count = 0
        self.suffix = "Z" if "LTZ" in time_type else ""

    def start(self, query: str) -> Any:
        """Start an INSERT of a query into the result."""
        (row,) = self.sql(f"INSERT INTO result {query}").collect()
        self.query = self.spark.streams.get(row[0])
        return self.query

    def order(self, id: int, currency: str | None, time: str | None, price: int = 1) -> None:
        """Write an order."""
        ts = None if time is None else f"2026-01-01 {time}{self.suffix}"
        row = {"id": id, "currency": currency, "price": price, "ts": ts}
        self.topics.produce(self.orders, json.dumps(row).encode(), partition=id % 2)

    def rate(self, currency: str, rate: int | None, time: str = "") -> None:
        """Write a version of a rate, or delete it."""
        row = {"currency": currency, "rate": rate, "valid": f"2026-01-01 {time}{self.suffix}"}
        value = None if rate is None else json.dumps(row).encode()
        key = json.dumps({"currency": currency}).encode()
        self.topics.produce(self.rates, value, key=key, partition=len(currency) % 2)

    def process(self, *new: tuple[Any, ...]) -> None:
        """Wait until the query has processed all records, and check the rows that it has added to the result."""
        self.query.processAllAvailable()
        messages = self.topics.consume(self.result, self.count + len(new))
        rows = [tuple(json.loads(message.value() or b"").values()) for message in messages]
        assert sorted(rows[self.count :], key=str) == sorted(new, key=str)
        self.count += len(new)


@pytest.fixture
def pipeline(spark: Any, streaming: Any, topics: Topics) -> Pipeline:
    return Pipeline(spark, streaming, topics)


@pytest.mark.long
def test_a_left_join(pipeline: Pipeline) -> None:
    pipeline.start(JOIN.format("LEFT JOIN"))
    pipeline.rate("EUR", 114, "09:00:00")
    pipeline.rate("EUR", 119, "10:15:00")
    pipeline.rate("USD", 1, "09:00:00")
    for id, currency, time in [
        (1, "EUR", "08:59:59"), (2, "EUR", "09:00:00"), (3, "EUR", "10:14:59.999"), (4, "EUR", "10:15:00"),
        (5, "USD", "10:00:00"), (6, "GBP", "10:00:00"), (7, "EUR", "10:15:06"),
    ]:  # fmt: skip
        pipeline.order(id, currency, time)
    pipeline.order(8, None, "10:00:00")
    pipeline.order(9, "EUR", None)
    # the watermark is 10:15:00, that of the rates; order 7 waits
    pipeline.process((1, None), (2, 114), (3, 114), (4, 119), (5, 1), (6, None), (8, None), (9, None))
    pipeline.rate("USD", None)  # a deletion has the time of the version that it deletes
    pipeline.rate("EUR", 120, "10:15:06")
    pipeline.rate("EUR", 121, "10:15:06")  # replaces the one before it
    pipeline.rate("YEN", 7, "10:20:00")
    pipeline.order(10, "USD", "10:20:05")
    pipeline.process((7, 121))
    pipeline.order(11, "EUR", "10:15:05")  # late: only the newest version is still there
    pipeline.order(12, "EUR", "10:16:00")
    pipeline.order(13, "USD", "11:00:00")
    pipeline.process((11, None), (12, 121))
    pipeline.rate("YEN", 8, "11:00:00")
    pipeline.process((10, None))


def test_an_inner_join_continues_after_a_restart(spark: Any, streaming: Any, topics: Topics) -> None:
    exactly_once = {"sink.delivery-guarantee": "exactly-once", "sink.transactional-id-prefix": topics.create()}
    pipeline = Pipeline(spark, streaming, topics, **exactly_once)
    pipeline.start(JOIN.format("JOIN"))
    pipeline.rate("EUR", 114, "09:00:00")
    pipeline.rate("EUR", 119, "10:15:00")
    pipeline.order(1, "EUR", "10:00:00")
    pipeline.order(2, "EUR", "10:20:00")
    pipeline.order(3, "GBP", "10:00:00")
    pipeline.process((1, 114))
    pipeline.query.stop()
    pipeline.rate("EUR", 120, "10:30:00")
    pipeline.rate("EUR", 121, "10:10:00")  # late: not valid any more at the time of order 2
    pipeline.order(4, "EUR", "10:31:00")
    pipeline.start(JOIN.format("JOIN"))
    pipeline.process((2, 119))
    pipeline.rate("EUR", 122, "10:40:00")
    pipeline.order(5, "EUR", "10:40:05")
    pipeline.process((4, 120))
    pipeline.query.stop()
    with pytest.raises(CheckpointError, match="join type of the TemporalJoin changed from INNER to LEFT OUTER"):
        pipeline.start(JOIN.format("LEFT JOIN"))


@pytest.mark.long
def test_conditions_and_computed_columns(spark: Any, streaming: Any, topics: Topics) -> None:
    pipeline = Pipeline(spark, streaming, topics, "TIMESTAMP_LTZ(3)")
    pipeline.start(
        """SELECT id, doubled FROM (SELECT *, upper(currency) AS code FROM orders WHERE price > 0)
        LEFT JOIN rates FOR SYSTEM_TIME AS OF ts AS r
        ON code = r.currency AND price < rate AND r.rate < 119 AND doubled > 0"""
    )
    pipeline.rate("EUR", 114, "09:00:00")
    pipeline.rate("EUR", 119, "10:15:00")
    pipeline.order(1, "eur", "10:00:00")
    pipeline.order(2, "EUR", "10:00:00", 115)
    pipeline.order(3, "EUR", "10:15:00")  # the version does not fulfill the condition; an earlier one is not valid
    pipeline.order(4, "EUR", "10:00:00", -1)
    pipeline.order(5, "EUR", "10:30:00")
    pipeline.process((1, 228), (2, None), (3, None))


@pytest.mark.long
def test_explain(pipeline: Pipeline) -> None:
    (row,) = pipeline.sql(f"EXPLAIN INSERT INTO result {JOIN.format('LEFT JOIN')}").collect()
    assert re.search(r"TableSourceScan\(table=\[default.rates\].* changelogMode=\[I,UA,D\]\)", row.plan)
    assert "Sink(table=[default.result], changelogMode=[I])" in row.plan
    assert "State: TemporalJoin (currency = currency)" in row.plan


def test_refused(pipeline: Pipeline, topics: Topics) -> None:
    sql = pipeline.sql
    sql(
        f"""CREATE TABLE ltz_rates (currency STRING, rate INT, valid TIMESTAMP_LTZ(3), WATERMARK FOR valid AS valid,
        PRIMARY KEY (currency) NOT ENFORCED) {topics.with_upsert_options(pipeline.rates)}"""
    )
    sql("CREATE TEMPORARY VIEW all_rates AS SELECT * FROM rates")
    latest = "SELECT * FROM (SELECT *, ROW_NUMBER() OVER (PARTITION BY currency ORDER BY {} DESC) AS n FROM orders)"
    sql(f"CREATE TEMPORARY VIEW latest_ids AS {latest.format('id')} WHERE n = 1")
    join = "SELECT o.id, r.rate FROM {} AS o JOIN {} FOR SYSTEM_TIME AS OF o.ts AS r ON {}"
    key = "o.currency = r.currency"
    shifted = "(SELECT id, currency, ts + INTERVAL '1' SECOND AS ts FROM orders)"
    twice = f"({join.format('orders', 'rates', key).replace('o.id', 'o.id, o.ts, o.currency')})"
    try:
        for left, right, condition, message in [
            ("orders", "rates", "o.price = r.rate", r"primary key \[currency\] must be included"),
            ("orders", "ltz_rates", key, "requires same rowtime type"),
            ("orders", "all_rates", key, "View 'all_rates'"),
            (shifted, "rates", key, "not the left table's time attribute"),
            (twice, "rates", key, "with the result of another one"),
        ]:
            with pytest.raises(UnsupportedSqlError, match=message):
                sql(f"INSERT INTO result {join.format(left, right, condition)}")
        with pytest.raises(UnsupportedSqlError, match="a view that is ordered by id"):
            sql(f"INSERT INTO result {join.format('orders', 'latest_ids', key).replace('r.rate', 'r.price')}")
    finally:
        sql("DROP VIEW all_rates")
        sql("DROP VIEW latest_ids")
    changing = join.format("rates", "rates", key).replace("o.ts", "o.valid").replace("o.id", "o.rate")
    with pytest.raises(UnsupportedSqlError, match="for rows that change"):
        sql(f"INSERT INTO result {changing}")
    with pytest.raises(UnsupportedSqlError, match="must be an INSERT INTO"):
        sql(JOIN.format("JOIN"))


@pytest.mark.long
def test_aggregates_of_the_result(pipeline: Pipeline, topics: Topics) -> None:
    window = f"""SELECT cast(sum(rate) AS INT), cast(count(*) AS INT) FROM (SELECT o.ts, r.rate FROM
        {JOIN.partition("FROM")[2].format("LEFT JOIN")}) GROUP BY TUMBLE(ts, INTERVAL '1' MINUTE)"""
    pipeline.start(window)
    pipeline.rate("EUR", 1, "09:00:00")
    pipeline.rate("EUR", 10, "09:00:30")
    pipeline.order(1, "EUR", "09:00:10")
    pipeline.order(2, "EUR", "09:00:40")
    pipeline.order(3, "EUR", "09:01:40")
    pipeline.rate("EUR", 100, "09:01:35")
    pipeline.process((11, 2))
    pipeline.query.stop()
    totals = topics.create()
    pipeline.sql(
        f"""CREATE TABLE totals (currency STRING, rates BIGINT, PRIMARY KEY (currency) NOT ENFORCED)
        {topics.with_upsert_options(totals)}"""
    )
    with pytest.raises(UnsupportedSqlError, match="an aggregate without a window"):
        pipeline.sql(
            f"""INSERT INTO totals SELECT currency, sum(rate) FROM (SELECT o.currency, r.rate FROM
            {JOIN.partition("FROM")[2].format("LEFT JOIN")}) GROUP BY currency"""
        )


@pytest.mark.long
def test_a_view_of_the_latest_rows(pipeline: Pipeline, topics: Topics) -> None:
    topic = topics.create()
    pipeline.sql(
        f"""CREATE TABLE history (currency STRING, rate INT, valid TIMESTAMP(3), WATERMARK FOR valid AS valid)
        {topics.with_options(topic)}"""
    )
    pipeline.sql(
        """CREATE TEMPORARY VIEW latest AS SELECT currency, rate, valid FROM (SELECT *, ROW_NUMBER()
        OVER (PARTITION BY currency ORDER BY valid DESC) AS n FROM history) WHERE n = 1"""
    )
    try:
        pipeline.start(JOIN.format("LEFT JOIN").replace("rates", "latest"))
        for rate, time in ((1, "09:00:00"), (3, "11:00:00"), (2, "10:00:00")):
            row = {"currency": "EUR", "rate": rate, "valid": f"2026-01-01 {time}"}
            topics.produce(topic, json.dumps(row).encode())
        for id, time in enumerate(("08:00:00", "09:30:00", "10:30:00", "11:00:00", "12:00:00")):
            pipeline.order(id, "EUR", time)
        pipeline.process((0, None), (1, 1), (2, 2), (3, 3))
    finally:
        pipeline.sql("DROP VIEW latest")


@pytest.mark.long
def test_a_table_that_rarely_changes(pipeline: Pipeline) -> None:
    policy = "spark.sql.streaming.multipleWatermarkPolicy"
    pipeline.sql(f"SET '{policy}' = 'max'")
    try:
        pipeline.start(JOIN.format("JOIN"))
    finally:
        pipeline.spark.conf.unset(policy)
    pipeline.rate("EUR", 114, "09:00:00")
    pipeline.order(1, "EUR", "10:00:00")
    pipeline.order(2, "EUR", "10:10:00")
    pipeline.process((1, 114))


@pytest.mark.long
def test_create_table_as(pipeline: Pipeline, topics: Topics) -> None:
    pipeline.result = topics.create()
    with_options = topics.with_options(pipeline.result)
    (job,) = pipeline.sql(f"CREATE TABLE joined {with_options} AS {JOIN.format('JOIN')}").collect()
    pipeline.query = pipeline.spark.streams.get(job[0])
    pipeline.rate("EUR", 114, "09:00:00")
    pipeline.order(1, "EUR", "09:00:00")
    pipeline.order(2, "EUR", "09:00:05")
    pipeline.process((1, 114))
