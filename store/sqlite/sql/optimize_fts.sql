INSERT INTO fts (fts) VALUES ('optimize')
