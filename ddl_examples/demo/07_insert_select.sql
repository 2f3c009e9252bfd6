-- From topic to topic, once
INSERT INTO large_orders SELECT order_id, country, total FROM orders WHERE total >= 500
