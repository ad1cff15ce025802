-- A record that an older program packed lacks fields of a skill: the skill is read again.
SELECT id, path, CASE WHEN packed THEN stamp ELSE '' END, CASE WHEN packed THEN digest ELSE '' END, name, location
FROM (SELECT *, get_byte(meta, 0) >= @version::integer AS packed FROM repertoire.skills) s
WHERE catalog = @catalog AND source = @source AND sha256(path) IN (SELECT sha256(p) FROM unnest(@paths::bytea[]) p)
