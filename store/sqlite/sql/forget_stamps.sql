UPDATE skills SET stamp = '', digest = '' WHERE source_id = :source
