SELECT id FROM skills WHERE source_id = :source
