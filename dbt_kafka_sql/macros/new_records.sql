{#- The records of a Kafka relation that came since this model last ran, in brackets, for FROM.

    The relation needs the metadata columns `partition` and `offset`. What has been read is known

    - in an incremental model from the model's own table, which must keep both columns: rows and mark are one write;
    - in a kafka_topic model from the table <model>__offsets, a row a partition and run. It is written after the topic,
      so a run that dies in between writes its records again with the next one, and none is lost. -#}
{% macro new_records(relation) %}
  {%- if config.get('materialized') == 'kafka_topic' -%}
    {%- if execute and not kafka_sql.declaration().new_records_of -%}
      {%- do exceptions.raise_compiler_error("new_records(" ~ relation ~ "): name it in the model's meta.kafka.new_records_of, too.") -%}
    {%- endif -%}
    (SELECT r.* FROM {{ relation }} r JOIN {{ kafka_sql.range_of(this) }} o
      ON r.`partition` = o.`partition` WHERE r.`offset` >= o.`start` AND r.`offset` < o.`end`)
  {%- elif is_incremental() -%}
    (SELECT r.* FROM {{ relation }} r LEFT JOIN
      (SELECT `partition`, max(`offset`) AS `last` FROM {{ this }} GROUP BY `partition`) o
      ON r.`partition` = o.`partition` WHERE o.`last` IS NULL OR r.`offset` > o.`last`)
  {%- else -%}
    {{ relation }}
  {%- endif -%}
{% endmacro %}


{#- Fixes what the run reads, before it reads: by partition from the end of the last run to the newest record. -#}
{% macro open_range(relation) %}
  {%- set offsets = kafka_sql.offsets_of(this) -%}
  {%- set range = kafka_sql.range_of(this) -%}
  {%- if should_full_refresh() -%}
    {%- do run_query("DROP TABLE IF EXISTS " ~ offsets) -%}
  {%- endif -%}
  {%- do run_query("CREATE TABLE IF NOT EXISTS " ~ offsets ~ " (`partition` INT, `end` BIGINT) USING parquet") -%}
  {%- do run_query("DROP TABLE IF EXISTS " ~ range) -%}
  {%- set ends -%}
    CREATE TABLE {{ range }} USING parquet AS
    SELECT n.`partition`, coalesce(d.`end`, 0) AS `start`, n.`end`
    FROM (SELECT `partition`, max(`offset`) + 1 AS `end` FROM {{ relation }} GROUP BY `partition`) n
    LEFT JOIN (SELECT `partition`, max(`end`) AS `end` FROM {{ offsets }} GROUP BY `partition`) d
      ON n.`partition` = d.`partition`
    WHERE d.`end` IS NULL OR n.`end` > d.`end`
  {%- endset -%}
  {%- do run_query(ends) -%}
{% endmacro %}


{#- Says that it has been written. -#}
{% macro close_range() %}
  {%- do run_query(
    "INSERT INTO " ~ kafka_sql.offsets_of(this) ~ " SELECT `partition`, `end` FROM " ~ kafka_sql.range_of(this)
  ) -%}
{% endmacro %}


{% macro offsets_of(relation) %}
  {{- return(relation.incorporate(path={'identifier': relation.identifier ~ '__offsets'}, type='table')) -}}
{% endmacro %}


{% macro range_of(relation) %}
  {{- return(relation.incorporate(path={'identifier': relation.identifier ~ '__range'}, type='table')) -}}
{% endmacro %}
