-- What a node compares to notice changes.
SELECT k.identity, k.generation, k.token, k.found, coalesce(t.number, 0)
FROM repertoire.catalogs k LEFT JOIN repertoire.token_changes t ON t.catalog = k.id WHERE k.id = @catalog
