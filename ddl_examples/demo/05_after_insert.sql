-- A query reads the topic as it is now
SELECT count(*) AS orders, max(order_id) AS last_order, sum(total) AS revenue FROM orders
