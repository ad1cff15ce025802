-- A table without row IDs keeps no more than a quarter of a page in place: each
-- vector of 256 dimensions took a page of its own, four times its size.
ALTER TABLE vectors RENAME TO former_vectors;
CREATE TABLE vectors (
  model_id INTEGER NOT NULL REFERENCES models (id) ON DELETE CASCADE,
  hash     BLOB NOT NULL,
  vector   BLOB NOT NULL,              -- little-endian float32
  UNIQUE (model_id, hash)
) STRICT;
INSERT INTO vectors SELECT model_id, hash, vector FROM former_vectors;
DROP TABLE former_vectors;
