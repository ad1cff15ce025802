DELETE FROM vectors WHERE hash NOT IN (SELECT hash FROM texts)
