-- An ordinary Spark SQL query: orders by country
SELECT country, count(*) AS orders, sum(quantity) AS items, sum(total) AS revenue
FROM orders
GROUP BY country
ORDER BY revenue DESC
