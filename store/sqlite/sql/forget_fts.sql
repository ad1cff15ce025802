INSERT INTO fts (fts, rowid, name, description, tags, body)
VALUES ('delete', :skill, :name, :description, :tags, :body)
