INSERT INTO fts (rowid, name, description, tags, body) VALUES (:skill, :name, :description, :tags, :body)
