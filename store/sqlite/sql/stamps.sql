SELECT id, path, stamp, digest, name, location FROM skills WHERE source_id = :source
