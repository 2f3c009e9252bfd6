-- An ordinary Spark SQL query: what each country has ordered
SELECT country, count(*) AS orders, sum(quantity) AS items, sum(total) AS revenue
FROM orders
GROUP BY country
ORDER BY revenue DESC
