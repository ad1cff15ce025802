-- The version of the schema is the number of files like this one that were applied.
CREATE SCHEMA IF NOT EXISTS repertoire;
CREATE TABLE repertoire.schema (
  one     boolean PRIMARY KEY DEFAULT true CHECK (one),
  version integer NOT NULL
);
INSERT INTO repertoire.schema (version) VALUES (0);

-- Text of skills is kept as bytes: it may hold any byte, and bytes have one order, in
-- every database and in Go.

-- A catalog's rows have numbers of its own, which no other row of the catalog ever gets.
-- Whoever writes a catalog locks its row here until the end of the transaction.
CREATE TABLE repertoire.catalogs (
  id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  name       text NOT NULL UNIQUE,
  identity   text NOT NULL,                -- random: a catalog that is made again is another one
  generation bigint NOT NULL DEFAULT 0,
  token      bigint NOT NULL DEFAULT 0,    -- random, of the generation
  newest     bigint NOT NULL DEFAULT 0,    -- the highest row that was ever used
  found      bigint NOT NULL DEFAULT 0     -- number of skills
);

-- changes is complete from the oldest of these generations on.
CREATE TABLE repertoire.generations (
  catalog bigint NOT NULL REFERENCES repertoire.catalogs ON DELETE CASCADE,
  number  bigint NOT NULL,
  token   bigint NOT NULL,
  PRIMARY KEY (catalog, number)
);

CREATE TABLE repertoire.sources (
  catalog  bigint NOT NULL REFERENCES repertoire.catalogs ON DELETE CASCADE,
  id       bigint NOT NULL,
  label    bytea NOT NULL,
  root     bytea NOT NULL,
  priority bigint NOT NULL,
  walked   bigint NOT NULL,                -- Unix nanoseconds; 0: never
  identity bytea NOT NULL,                 -- which folder was walked
  away     boolean NOT NULL,
  PRIMARY KEY (catalog, id)
);

-- One row for every SKILL.md, the refused ones included. Long columns are in documents, so
-- that listings read little. No index holds a name or a path as it is, because an entry of
-- an index has a largest size and a name has none.
-- Only primary keys begin with the catalog. In a new database the planner knows nothing
-- about the tables, and would as soon take another such index, to read all rows of a catalog
-- for each row that a foreign key checks.
CREATE TABLE repertoire.skills (
  catalog     bigint NOT NULL,
  id          bigint NOT NULL,
  source      bigint NOT NULL,
  refused     boolean NOT NULL,
  shadowed_by bigint,                      -- the skill that is offered under its name
  own_folder  boolean NOT NULL,            -- its folder has its name
  tokens      bigint NOT NULL,
  path        bytea NOT NULL,              -- of the SKILL.md in its source
  stamp       bytea NOT NULL,
  digest      bytea NOT NULL,
  text_digest bytea NOT NULL,
  name        bytea NOT NULL,
  name_key    bytea NOT NULL,
  location    bytea NOT NULL,
  description bytea NOT NULL,
  tags        bytea NOT NULL,              -- JSON; '' if empty, as in the next two
  needs       bytea NOT NULL,
  triggers    bytea NOT NULL,
  problems    bytea,                       -- see package store: Record.Pack
  PRIMARY KEY (catalog, id),
  FOREIGN KEY (catalog, source) REFERENCES repertoire.sources ON DELETE CASCADE
);
CREATE UNIQUE INDEX skills_by_path ON repertoire.skills (sha256(path), source, catalog);
CREATE INDEX skills_by_name ON repertoire.skills (sha256(name_key), catalog) WHERE NOT refused;
CREATE INDEX skills_by_shadow ON repertoire.skills (shadowed_by, catalog) WHERE shadowed_by IS NOT NULL;

-- Body and terms are compressed already.
CREATE TABLE repertoire.documents (
  catalog bigint NOT NULL,
  skill   bigint NOT NULL,
  body    bytea NOT NULL,
  terms   bytea NOT NULL,
  sketch  bytea NOT NULL,
  PRIMARY KEY (catalog, skill),
  FOREIGN KEY (catalog, skill) REFERENCES repertoire.skills ON DELETE CASCADE
);
ALTER TABLE repertoire.documents
  ALTER COLUMN body SET STORAGE EXTERNAL,
  ALTER COLUMN terms SET STORAGE EXTERNAL;

-- The texts of a skill that get a vector each; 0 is the description.
CREATE TABLE repertoire.texts (
  catalog bigint NOT NULL,
  skill   bigint NOT NULL,
  ordinal integer NOT NULL,
  hash    bytea NOT NULL,
  PRIMARY KEY (catalog, skill, ordinal),
  FOREIGN KEY (catalog, skill) REFERENCES repertoire.skills ON DELETE CASCADE
);
CREATE INDEX texts_by_hash ON repertoire.texts (hash, catalog);

-- Vectors belong to texts, not to skills.
CREATE TABLE repertoire.models (
  catalog bigint NOT NULL REFERENCES repertoire.catalogs ON DELETE CASCADE,
  id      bigint NOT NULL,
  name    bytea NOT NULL,
  PRIMARY KEY (catalog, id)
);
CREATE TABLE repertoire.vectors (
  catalog bigint NOT NULL,
  model   bigint NOT NULL,
  hash    bytea NOT NULL,
  vector  bytea NOT NULL,                  -- see package store: PackVector
  PRIMARY KEY (catalog, model, hash),
  FOREIGN KEY (catalog, model) REFERENCES repertoire.models ON DELETE CASCADE
);
ALTER TABLE repertoire.vectors ALTER COLUMN vector SET STORAGE EXTERNAL;

-- The last generation that changed a skill (model 0) or its vectors by a model. The skill
-- may be gone.
CREATE TABLE repertoire.changes (
  catalog    bigint NOT NULL REFERENCES repertoire.catalogs ON DELETE CASCADE,
  skill      bigint NOT NULL,
  model      bigint NOT NULL,
  generation bigint NOT NULL,
  PRIMARY KEY (catalog, skill, model)
);
CREATE INDEX changes_by_generation ON repertoire.changes (generation, catalog);
