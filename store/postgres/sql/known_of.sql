SELECT id, path, stamp, digest, name, location FROM repertoire.skills
WHERE catalog = @catalog AND source = @source AND sha256(path) IN (SELECT sha256(p) FROM unnest(@paths::bytea[]) p)
