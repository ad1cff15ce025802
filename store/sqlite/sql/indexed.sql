SELECT count(*) FROM skills WHERE refused = 0
