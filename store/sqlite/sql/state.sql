SELECT catalog, generation, token, (SELECT count(*) FROM skills) FROM state
