{#- Return a subquery for FROM: the records of a Kafka relation since this model's last run.

    The relation needs the metadata columns `partition` and `offset`, and `topic` if it reads several topics, because
    offsets are unique only within a topic partition. The offsets of the last run are read

    - in an incremental model, from the model's table, which must keep these columns. Rows and offsets are written at once;
    - in a kafka_topic model, from the table <model>__offsets, which has one row per partition and run. It is written
      after the topic: if a run fails in between, the next run writes its records again, and none is lost. -#}
{% macro new_records(relation) %}
  {%- set keys = kafka_sql.partition_columns(relation) -%}
  {%- if config.get('materialized') == 'kafka_topic' -%}
    {%- if execute and not kafka_sql.declaration().new_records_of -%}
      {%- do exceptions.raise_compiler_error("new_records(" ~ relation ~ "): the relation is missing in the model's meta.kafka.new_records_of.") -%}
    {%- endif -%}
    (SELECT r.* FROM {{ relation }} r JOIN {{ kafka_sql.range_of(this) }} o
      ON {{ kafka_sql.join_condition(keys, 'r', 'o') }} WHERE r.`offset` >= o.`start` AND r.`offset` < o.`end`)
  {%- elif is_incremental() -%}
    (SELECT r.* FROM {{ relation }} r LEFT JOIN
      (SELECT {{ keys | join(', ') }}, max(`offset`) AS `last` FROM {{ this }} GROUP BY {{ keys | join(', ') }}) o
      ON {{ kafka_sql.join_condition(keys, 'r', 'o') }} WHERE o.`last` IS NULL OR r.`offset` > o.`last`)
  {%- else -%}
    {{ relation }}
  {%- endif -%}
{% endmacro %}


{#- Fix the offsets that the run reads: per partition, from the end of the last run to the latest record. -#}
{% macro open_range(relation) %}
  {%- set offsets = kafka_sql.offsets_of(this) -%}
  {%- set range = kafka_sql.range_of(this) -%}
  {%- if should_full_refresh() -%}
    {%- do run_query("DROP TABLE IF EXISTS " ~ offsets) -%}
  {%- endif -%}
  {%- set keys = kafka_sql.partition_columns(relation) -%}
  {%- set key_list = keys | join(', ') -%}
  {%- set topic = "`topic` STRING, " if keys | length > 1 else "" -%}
  {%- do run_query("CREATE TABLE IF NOT EXISTS " ~ offsets ~ " (" ~ topic ~ "`partition` INT, `end` BIGINT) USING parquet") -%}
  {%- do run_query("DROP TABLE IF EXISTS " ~ range) -%}
  {%- set ends -%}
    CREATE TABLE {{ range }} USING parquet AS
    SELECT n.{{ keys | join(', n.') }}, coalesce(d.`end`, 0) AS `start`, n.`end`
    FROM (SELECT {{ key_list }}, max(`offset`) + 1 AS `end` FROM {{ relation }} GROUP BY {{ key_list }}) n
    LEFT JOIN (SELECT {{ key_list }}, max(`end`) AS `end` FROM {{ offsets }} GROUP BY {{ key_list }}) d
      ON {{ kafka_sql.join_condition(keys, 'n', 'd') }}
    WHERE d.`end` IS NULL OR n.`end` > d.`end`
  {%- endset -%}
  {%- do run_query(ends) -%}
{% endmacro %}


{#- Record that the run has written these offsets. -#}
{% macro close_range(relation) %}
  {%- set key_list = kafka_sql.partition_columns(relation) | join(', ') -%}
  {%- do run_query(
    "INSERT INTO " ~ kafka_sql.offsets_of(this) ~ " SELECT " ~ key_list ~ ", `end` FROM " ~ kafka_sql.range_of(this)
  ) -%}
{% endmacro %}


{#- Return the columns that identify a partition; with several topics, including the topic. -#}
{% macro partition_columns(relation) %}
  {%- if not execute or not kafka_sql.reads_several_topics(relation) -%}
    {{- return(["`partition`"]) -}}
  {%- endif -%}
  {%- for table in [relation, this] if table == relation or is_incremental() -%}
    {%- if 'topic' not in get_columns_in_query("SELECT * FROM " ~ table) -%}
      {%- do exceptions.raise_compiler_error(
        "new_records(" ~ relation ~ ") reads several topics, but " ~ table ~ " has no column `topic`. Declare it"
        ~ " in the source with data_type: STRING METADATA VIRTUAL, and select it in the models that read the source."
        ~ " Run with --full-refresh if " ~ this ~ " already exists."
      ) -%}
    {%- endif -%}
  {%- endfor -%}
  {{- return(["`topic`", "`partition`"]) -}}
{% endmacro %}


{#- Return whether a relation, or a relation that it selects from, is a Kafka table of several topics. -#}
{% macro reads_several_topics(relation) %}
  {%- set ids = [] -%}
  {%- for node in (graph.sources.values() | list) + (graph.nodes.values() | list)
      if node.schema == relation.schema and (node.identifier or node.alias) == relation.identifier -%}
    {%- do ids.append(node.unique_id) -%}
  {%- endfor -%}
  {%- for id in ids -%}
    {%- set node = graph.sources.get(id) or graph.nodes.get(id) or {} -%}
    {%- set options = (((node.meta or {}).kafka or {}).with or {}) -%}
    {%- if 'topic-pattern' in options or ';' in (options.topic or '') | string -%}
      {{- return(true) -}}
    {%- endif -%}
    {%- if not options -%}
      {%- do ids.extend(((node.depends_on or {}).nodes or []) | reject('in', ids)) -%}
    {%- endif -%}
  {%- endfor -%}
  {{- return(false) -}}
{% endmacro %}


{#- Return the condition that two aliases have the same values in the key columns. -#}
{% macro join_condition(keys, left, right) %}
  {%- for key in keys -%}{{ left }}.{{ key }} = {{ right }}.{{ key }}{{ " AND " if not loop.last }}{%- endfor -%}
{% endmacro %}


{#- Return the table with the end offsets of each run of a kafka_topic model. -#}
{% macro offsets_of(relation) %}
  {{- return(relation.incorporate(path={'identifier': relation.identifier ~ '__offsets'}, type='table')) -}}
{% endmacro %}


{#- Return the table with the offsets that the current run of a kafka_topic model reads. -#}
{% macro range_of(relation) %}
  {{- return(relation.incorporate(path={'identifier': relation.identifier ~ '__range'}, type='table')) -}}
{% endmacro %}
