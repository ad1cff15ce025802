SELECT name, hash, agent, created, expires FROM repertoire.tokens WHERE catalog = @catalog ORDER BY name
