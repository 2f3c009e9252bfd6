-- Totals by country per 10 minutes of event time; a window is written when the watermark has passed its end
INSERT INTO revenue
SELECT window.start, window.end, country, count(*), sum(total)
FROM orders
GROUP BY window(ts, '10 minutes'), country
