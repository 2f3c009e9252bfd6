-- Queries see the new records
SELECT count(*) AS orders, max(order_id) AS last_order, sum(total) AS revenue FROM orders
