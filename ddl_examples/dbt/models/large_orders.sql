{{ config(materialized='kafka_topic') }}

SELECT order_id, total
FROM {{ kafka_sql.new_records(ref('stg_orders')) }}
WHERE total >= 100
