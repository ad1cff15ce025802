SELECT id FROM skills WHERE source_id = :source AND substr(location, 1, length(:from)) <> :from
