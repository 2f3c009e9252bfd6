"""Plans of changelogs in EXPLAIN."""

from __future__ import annotations

from kafka_sql.sql.statements.explain import name_hidden_columns


def test_hidden_columns_have_names_of_flink_or_are_not_listed() -> None:
    plan = """Project [id#1, __row_kind#5]
+- Project [id#1, pack(struct(kind, __row_kind#5, order, __row_order#6L)) AS change#7, __row_kind#5, __row_order#6L]
   +- StreamingRelation kafka.src, [id#1, __row_kind#5, __row_order#6L]"""
    assert (
        name_hidden_columns(plan)
        == """Project [id#1, row-kind#5]
+- Project [id#1, pack(struct(kind, row-kind#5, order, row-order#6L)) AS change#7, row-kind#5]
   +- StreamingRelation kafka.src, [id#1, row-kind#5]"""
    )
