-- The files of skills. They are truth, not cache.
CREATE TABLE repertoire.files (
  catalog bigint NOT NULL,
  skill   bigint NOT NULL,
  ordinal integer NOT NULL,                -- in the order of paths
  path    bytea NOT NULL,                  -- in the folder of the skill
  size    bigint NOT NULL,
  sha256  bytea NOT NULL,
  PRIMARY KEY (catalog, skill, ordinal),
  FOREIGN KEY (catalog, skill) REFERENCES repertoire.skills ON DELETE CASCADE
);
CREATE INDEX files_by_content ON repertoire.files (sha256, catalog);

-- What the files hold, once for all files that are the same. Whoever writes a catalog keeps
-- exactly what its files need, by checks at the end of a transaction: a foreign key would
-- check each file on its own, and could not name it.
CREATE TABLE repertoire.contents (
  catalog bigint NOT NULL REFERENCES repertoire.catalogs ON DELETE CASCADE,
  sha256  bytea NOT NULL CHECK (octet_length(sha256) = 32),
  data    bytea NOT NULL,
  PRIMARY KEY (catalog, sha256)
);
-- To compress the files takes the server longer than all the rest of a first push.
ALTER TABLE repertoire.contents ALTER COLUMN data SET STORAGE EXTERNAL;
