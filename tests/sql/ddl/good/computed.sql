CREATE TABLE orders (
  order_id BIGINT, price DECIMAL(10, 2), quantity INT, note STRING, placed BIGINT,
  buyer ROW<name STRING, address ROW<city STRING>>,
  total AS price * quantity COMMENT 'in EUR',
  city AS UPPER(TRIM(buyer.address.city)),
  size AS CASE WHEN quantity > 100 THEN 'big' WHEN quantity > 10 THEN 'middle' ELSE 'small' END,
  label AS COALESCE(note, 'none') || '/' || CAST(order_id AS STRING),
  odd AS quantity IN (1, 3) OR NOT (quantity BETWEEN 4 AND 6) AND note LIKE 'o%' AND note IS NOT NULL,
  seen AS PROCTIME(),
  placed_at AS TO_TIMESTAMP_LTZ(placed, 3),
  WATERMARK FOR placed_at AS placed_at - INTERVAL '10' SECOND
) WITH ('connector' = 'kafka', 'topic' = 'orders', 'format' = 'json')
