-- The result topic is a table like any other
SELECT window_start, sum(orders) AS orders, sum(revenue) AS revenue, max_by(country, revenue) AS best_country
FROM revenue
GROUP BY window_start
ORDER BY window_start
