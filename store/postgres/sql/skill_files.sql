-- A skill without files has one row without a path.
SELECT f.path, f.size, f.sha256 FROM repertoire.sources s CROSS JOIN unnest(@paths::bytea[]) p
CROSS JOIN LATERAL (
  SELECT id FROM repertoire.skills WHERE catalog = @catalog AND source = s.id AND sha256(path) = p OFFSET 0
) k
LEFT JOIN repertoire.files f ON f.catalog = @catalog AND f.skill = k.id
WHERE s.catalog = @catalog AND s.label = @label ORDER BY f.ordinal
