{#- Write a model to a topic: create the table from the model's columns and meta.kafka, then INSERT INTO.

    Each run writes all rows of the model again. If meta.kafka.new_records_of names the relation that the model reads,
    a run writes only its records since the last run. See new_records.sql. -#}
{% materialization kafka_topic, adapter='spark' %}
  {%- set target = this.incorporate(type='table') -%}
  {%- set existing = adapter.get_relation(database=database, schema=schema, identifier=this.identifier) -%}
  {%- if existing is not none and 'Provider: kafka' not in (existing.information or '') and not existing.is_view -%}
    {%- do exceptions.raise_compiler_error(
      target ~ " already exists and is not a Kafka table. DROP TABLE it first, or rename the model."
    ) -%}
  {%- endif -%}
  {%- set kafka = kafka_sql.declaration() -%}

  {{ run_hooks(pre_hooks) }}

  {%- do run_query(kafka_sql.create_table(target, model.columns, kafka)) -%}
  {%- if kafka.new_records_of -%}
    {%- set name = kafka.new_records_of -%}
    {%- set input = ref(name) if name is string else source(*name) -%}
    {%- do kafka_sql.open_range(input) -%}
  {%- endif -%}
  {%- call statement('main') -%}
    INSERT INTO {{ target }} BY NAME
    {{ sql }}
  {%- endcall -%}
  {%- if kafka.new_records_of -%}
    {%- do kafka_sql.close_range(input) -%}
  {%- endif -%}

  {{ run_hooks(post_hooks) }}

  {{ return({'relations': [target]}) }}
{% endmaterialization %}


{#- Return the model's meta.kafka. -#}
{% macro declaration() %}
  {%- set kafka = (config.get('meta') or {}).get('kafka') -%}
  {%- if not kafka -%}
    {%- do exceptions.raise_compiler_error("A kafka_topic model needs meta.kafka in its config, with the table's options under `with`.") -%}
  {%- endif -%}
  {{ return(kafka) }}
{% endmacro %}
