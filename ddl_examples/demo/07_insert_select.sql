-- Copy from topic to topic with a batch job
INSERT INTO large_orders SELECT order_id, country, total FROM orders WHERE total >= 500
