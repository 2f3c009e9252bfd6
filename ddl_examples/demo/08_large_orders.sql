-- Read it back
SELECT count(*) AS orders, min(total) AS smallest, max(total) AS largest, sum(total) AS revenue FROM large_orders
