SELECT order_id, upper(country) AS country, total, `partition`, `offset`
FROM {{ source('kafka', 'orders') }}
WHERE country IS NOT NULL
