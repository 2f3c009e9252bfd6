{{ config(materialized='incremental', incremental_strategy='append', file_format='parquet') }}

SELECT order_id, country, total, `partition`, `offset`
FROM {{ kafka_sql.new_records(ref('stg_orders')) }}
