-- Vectors by model and text. used is the day of the last use, in days since 1970: what was
-- not used for longest goes first when there is no room. The hash is that of store.Text.
CREATE TABLE models (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE vectors (
  model_id INTEGER NOT NULL REFERENCES models (id),
  hash     BLOB NOT NULL,
  vector   BLOB NOT NULL,              -- see store.PackVector
  used     INTEGER NOT NULL,
  UNIQUE (model_id, hash)
) STRICT;
CREATE INDEX vectors_by_use ON vectors (used);
-- What tells the file from others, and its version, see prepare.
PRAGMA application_id = 0x52657043;
PRAGMA user_version = 1;
