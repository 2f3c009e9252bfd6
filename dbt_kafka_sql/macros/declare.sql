{#- Create a Kafka table for every source that has meta.kafka. For on-run-start: "{{ kafka_sql.declare_sources() }}" -#}
{% macro declare_sources() %}
  {%- if execute -%}
    {%- for node in graph.sources.values() if node.meta.kafka is defined -%}
      {%- set relation = api.Relation.create(schema=node.schema, identifier=node.identifier) -%}
      {%- do adapter.create_schema(relation) -%}
      {%- do run_query(kafka_sql.create_table(relation, node.columns, node.meta.kafka)) -%}
    {%- endfor -%}
  {%- endif -%}
{% endmacro %}


{#- Return Flink's CREATE TABLE for dbt's columns and {with: {...}, constraints: [...]}.

    A column's data_type is everything after its name: "BIGINT", "INT METADATA VIRTUAL", "AS price * quantity". -#}
{% macro create_table(relation, columns, kafka) %}
  {%- set lines = [] -%}
  {%- for column in columns.values() -%}
    {%- if not column.data_type -%}
      {%- do exceptions.raise_compiler_error(
        "Kafka table " ~ relation ~ ": column '" ~ column.name ~ "' needs a data_type. Use Flink's types: BIGINT, STRING, TIMESTAMP_LTZ(3)."
      ) -%}
    {%- endif -%}
    {%- do lines.append(kafka_sql.quote_name(column.name) ~ " " ~ column.data_type) -%}
  {%- endfor -%}
  {%- if not lines -%}
    {%- do exceptions.raise_compiler_error("Kafka table " ~ relation ~ ": columns are missing. List them in YAML, each with its data_type.") -%}
  {%- endif -%}
  {%- do lines.extend(kafka.constraints or []) -%}
  {%- set options = [] -%}
  {%- for key, value in kafka.with.items() -%}
    {%- do options.append(kafka_sql.quote_string(key) ~ " = " ~ kafka_sql.quote_string(value)) -%}
  {%- endfor -%}
  CREATE TABLE IF NOT EXISTS {{ relation }} (
    {{ lines | join(",\n    ") }}
  ) WITH (
    {{ options | join(",\n    ") }}
  )
{%- endmacro %}


{% macro quote_name(name) %}{{ return("`" ~ name | replace("`", "``") ~ "`") }}{% endmacro %}


{% macro quote_string(value) %}{{ return("'" ~ (value | string) | replace("'", "''") ~ "'") }}{% endmacro %}
