-- Where skills come from. priority decides which of two skills of one name is
-- offered; walked is the time of the last complete walk in Unix nanoseconds.
CREATE TABLE sources (
  id       INTEGER PRIMARY KEY,
  label    TEXT NOT NULL UNIQUE,
  root     TEXT NOT NULL,
  priority INTEGER NOT NULL,
  walked   INTEGER NOT NULL DEFAULT 0
) STRICT;

-- One row for every SKILL.md that a walk found, the refused ones included:
-- their stamp saves reading them again, their problems are reported.
-- An id is never given out again, so that one that another process still holds
-- cannot name another skill. What is long stands in a table of its own, so that
-- these rows are near to each other: a rescan and the start of a program read all.
CREATE TABLE skills (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  source_id   INTEGER NOT NULL REFERENCES sources (id),
  refused     INTEGER NOT NULL,        -- 1: no usable skill, only problems
  shadowed_by INTEGER REFERENCES skills (id) ON DELETE SET NULL,
  tokens      INTEGER NOT NULL,        -- of the body, estimated
  path        TEXT NOT NULL,           -- of the SKILL.md, relative to the source
  stamp       TEXT NOT NULL,           -- '' when it must be read again
  digest      TEXT NOT NULL,
  name        TEXT NOT NULL,
  name_key    TEXT NOT NULL,           -- what makes two names the same name
  location    TEXT NOT NULL,
  tags        TEXT NOT NULL,           -- JSON array of strings
  requires    TEXT NOT NULL,           -- JSON array of strings
  description TEXT NOT NULL,
  problems    BLOB,                    -- JSON array of problems, deflated; NULL for none
  UNIQUE (source_id, path)
) STRICT;
-- Precedence is settled in it, and it counts the skills that are not refused.
CREATE INDEX skills_by_name ON skills (name_key) WHERE refused = 0;
CREATE INDEX skills_by_shadow ON skills (shadowed_by) WHERE shadowed_by IS NOT NULL;

-- The frontmatter as a JSON object and the body, deflated together.
CREATE TABLE bodies (
  skill_id INTEGER PRIMARY KEY REFERENCES skills (id) ON DELETE CASCADE,
  body     BLOB NOT NULL
) STRICT;

CREATE TABLE files (
  skill_id INTEGER NOT NULL REFERENCES skills (id) ON DELETE CASCADE,
  path     TEXT NOT NULL,
  size     INTEGER NOT NULL,
  sha256   TEXT NOT NULL,
  PRIMARY KEY (skill_id, path)
) STRICT, WITHOUT ROWID;

-- The texts of a skill that have a vector each: 0 is its description, 1 its
-- body. The hash is the start of a SHA-256, 16 bytes.
CREATE TABLE texts (
  skill_id INTEGER NOT NULL REFERENCES skills (id) ON DELETE CASCADE,
  ordinal  INTEGER NOT NULL,
  hash     BLOB NOT NULL,
  PRIMARY KEY (skill_id, ordinal)
) STRICT, WITHOUT ROWID;
CREATE INDEX texts_by_hash ON texts (hash);

-- Vectors belong to texts, not to skills: a copy of a skill costs nothing, and
-- an edit of a body leaves the vector of its description. The table has row IDs
-- because one without keeps no more than a quarter of a page in place, and
-- vectors can have thousands of dimensions.
CREATE TABLE models (
  id   INTEGER PRIMARY KEY,
  name TEXT NOT NULL UNIQUE
) STRICT;
CREATE TABLE vectors (
  model_id INTEGER NOT NULL REFERENCES models (id) ON DELETE CASCADE,
  hash     BLOB NOT NULL,
  vector   BLOB NOT NULL,              -- float32 scale, then int8 times that
  UNIQUE (model_id, hash)
) STRICT;

-- generation grows with every change that a reader must see.
CREATE TABLE state (
  one        INTEGER PRIMARY KEY CHECK (one = 1),
  generation INTEGER NOT NULL
) STRICT;
INSERT INTO state VALUES (1, 0);

-- What full-text search was told of each skill, as a list of terms with counts,
-- deflated. It must be told the same, in any order, to forget it: only then do
-- its counts, on which scores depend, become what they would be if the skill had
-- never been there.
CREATE TABLE fields (
  skill_id INTEGER PRIMARY KEY REFERENCES skills (id) ON DELETE CASCADE,
  fields   BLOB NOT NULL
) STRICT;

-- The full text of every skill that is not refused, as terms that the caller
-- has already analysed (folded, split, stemmed): the tokenizer only has to cut
-- at spaces. That of ascii does, and leaves every other character beyond ASCII
-- as it is; unicode61 would fold and cut by tables older than the caller's. The
-- text itself is not stored a second time. The body is the first column because
-- that one needs no mark in the lists of positions: a fifth of the index.
CREATE VIRTUAL TABLE fts USING fts5 (
  body, name, description, tags,
  content = '',
  tokenize = 'ascii'
);
CREATE VIRTUAL TABLE terms USING fts5vocab (fts, row);
