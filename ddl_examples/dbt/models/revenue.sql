{{ config(materialized='table', file_format='parquet') }}

SELECT country, CAST(sum(total) AS DECIMAL(20, 2)) AS revenue, count(*) AS orders
FROM {{ ref('order_log') }}
GROUP BY country
