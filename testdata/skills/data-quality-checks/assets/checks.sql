-- Every query returns the offenders; no rows means passed. PostgreSQL syntax.

-- uniqueness
SELECT order_id, count(*) AS copies FROM orders GROUP BY order_id HAVING count(*) > 1;

-- freshness: nothing arrived for 26 hours
SELECT max(loaded_at) AS newest FROM orders HAVING max(loaded_at) < now() - interval '26 hours';

-- completeness: more than 2 % without a customer
SELECT avg((customer_id IS NULL)::int) AS share FROM orders
HAVING avg((customer_id IS NULL)::int) > 0.02;

-- validity
SELECT order_id, status, amount FROM orders
WHERE status NOT IN ('open', 'paid', 'shipped', 'returned') OR amount < 0 OR ordered_at > now();

-- integrity: orders without a parent
SELECT o.order_id FROM orders o LEFT JOIN customers c USING (customer_id)
WHERE o.customer_id IS NOT NULL AND c.customer_id IS NULL;

-- volume: today against the last eight equal weekdays
WITH daily AS (
  SELECT loaded_at::date AS day, count(*) AS n FROM orders
  WHERE loaded_at >= current_date - 57 GROUP BY 1
), base AS (
  SELECT avg(n) AS mean, stddev_samp(n) AS dev FROM daily
  WHERE day < current_date AND extract(dow FROM day) = extract(dow FROM current_date)
)
SELECT d.n, b.mean, b.dev FROM daily d, base b
WHERE d.day = current_date AND abs(d.n - b.mean) > 3 * b.dev;
