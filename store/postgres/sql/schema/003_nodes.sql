-- Compiled bases. They can be made again from the skills, so a backup may leave these two
-- tables out.
CREATE TABLE repertoire.bases (
  catalog bigint NOT NULL REFERENCES repertoire.catalogs ON DELETE CASCADE,
  key     bytea NOT NULL,                  -- see package store: Base
  number  bigint NOT NULL,                 -- of the generation, as token
  token   bigint NOT NULL,
  size    bigint NOT NULL,
  sha256  bytea NOT NULL,
  upload  bigint NOT NULL                  -- random: which chunks it consists of
);
CREATE UNIQUE INDEX bases_by_key ON repertoire.bases (catalog, sha256(key));
CREATE TABLE repertoire.chunks (
  catalog bigint NOT NULL REFERENCES repertoire.catalogs ON DELETE CASCADE,
  upload  bigint NOT NULL,
  ordinal integer NOT NULL,
  data    bytea NOT NULL,
  PRIMARY KEY (catalog, upload, ordinal)
);
ALTER TABLE repertoire.chunks ALTER COLUMN data SET STORAGE EXTERNAL;

-- Who may see which part of a catalog.
CREATE TABLE repertoire.tokens (
  catalog bigint NOT NULL REFERENCES repertoire.catalogs ON DELETE CASCADE,
  name    bytea NOT NULL,
  hash    bytea NOT NULL CHECK (octet_length(hash) = 32), -- SHA-256 of the secret
  agent   bytea NOT NULL,
  created timestamptz NOT NULL,
  expires timestamptz                      -- NULL: never
);
CREATE UNIQUE INDEX tokens_by_name ON repertoire.tokens (catalog, sha256(name));
-- How often the tokens of a catalog have changed. It is not in catalogs, whose rows are
-- locked while somebody pushes skills.
CREATE TABLE repertoire.token_changes (
  catalog bigint PRIMARY KEY REFERENCES repertoire.catalogs ON DELETE CASCADE,
  number  bigint NOT NULL
);
