SELECT id, path, stamp, digest FROM skills WHERE source_id = :source
