-- The generations since which changes tells everything.
SELECT number, token FROM generations ORDER BY number
