UPDATE skills SET stamp = '', location = :to || substr(location, length(:from) + 1) WHERE source_id = :source
