-- A file whose content is not there.
SELECT (SELECT path FROM repertoire.skills WHERE catalog = @catalog AND id = f.skill), f.path, sum
FROM unnest(@sums::bytea[]) sum
CROSS JOIN LATERAL (SELECT skill, path FROM repertoire.files WHERE catalog = @catalog AND sha256 = sum LIMIT 1) f
WHERE NOT EXISTS (SELECT 1 FROM repertoire.contents WHERE catalog = @catalog AND sha256 = sum OFFSET 0)
LIMIT 1
