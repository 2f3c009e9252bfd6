-- each order once: a run continues where the last one ended
CREATE STREAMING TABLE order_log AS
SELECT order_id, upper(country) AS country, CAST(price * quantity AS DECIMAL(20, 2)) AS total
FROM STREAM orders;

-- recomputed by each run
CREATE MATERIALIZED VIEW revenue AS
SELECT country, sum(total) AS revenue, count(*) AS orders
FROM order_log
GROUP BY country;
