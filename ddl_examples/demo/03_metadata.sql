-- Kafka's partition, offset and timestamp as metadata columns
SELECT `partition`, count(*) AS records, min(`offset`) AS first_offset, max(`offset`) AS last_offset,
       min(ts) AS first_ts, max(ts) AS last_ts
FROM orders
GROUP BY `partition`
ORDER BY `partition`
