-- Where skills come from. priority decides which of two skills of one name is
-- offered; walked is the time of the last complete walk in Unix nanoseconds.
CREATE TABLE sources (
  id       INTEGER PRIMARY KEY,
  label    TEXT NOT NULL UNIQUE,
  root     TEXT NOT NULL,
  priority INTEGER NOT NULL,
  -- The skills of a source that is apart neither hide skills of other sources that have
  -- their names, nor are hidden by them, unless both are the same.
  apart    INTEGER NOT NULL DEFAULT 0,
  walked   INTEGER NOT NULL DEFAULT 0,
  -- A source is away while it cannot be read at all. Its skills stay, but are not offered,
  -- and shadow no others.
  away     INTEGER NOT NULL DEFAULT 0,
  -- Which folder was at the root in the last complete walk. Where a disk is not mounted, an
  -- empty folder is often in its place: its skills are away, not deleted.
  identity TEXT NOT NULL DEFAULT ''
) STRICT;

-- One row for every SKILL.md that a walk found, the refused ones included:
-- their stamp saves reading them again, their problems are reported.
-- An id is never given out again, so that one that another process still holds
-- cannot name another skill. What is long stands in a table of its own, so that
-- these rows are near to each other: a rescan and the start of a program read all.
-- What no statement searches by is in meta, so that a new field of a skill changes nothing
-- here.
CREATE TABLE skills (
  id          INTEGER PRIMARY KEY AUTOINCREMENT,
  source_id   INTEGER NOT NULL REFERENCES sources (id),
  refused     INTEGER NOT NULL,        -- 1: no usable skill, only problems
  shadowed_by INTEGER REFERENCES skills (id) ON DELETE SET NULL,
  path        TEXT NOT NULL,           -- of the SKILL.md, relative to the source
  stamp       TEXT NOT NULL,           -- '' when it must be read again
  digest      TEXT NOT NULL,
  name        TEXT NOT NULL,
  name_key    TEXT NOT NULL,           -- what makes two names the same name
  location    TEXT NOT NULL,
  meta        BLOB NOT NULL,           -- see package skill: Meta.Pack
  problems    BLOB,                    -- JSON array of problems, deflated; NULL for none
  -- Within a source a skill whose folder has its name comes first: whether path is
  -- "…/name/SKILL.md" or "name/SKILL.md".
  own_folder  INTEGER GENERATED ALWAYS AS (substr('/' || path, -10 - length(name), length(name) + 1) = '/' || name) VIRTUAL,
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

-- What ranking by text reads of each skill: its terms with counts, see skill.Terms,
-- and the sketch of its body, see words.Sketch. Full-text search must be told the
-- same terms, in any order, to forget them: only then do its counts, on which
-- scores depend, become what they would be if the skill had never been there.
CREATE TABLE ranked (
  skill_id INTEGER PRIMARY KEY REFERENCES skills (id) ON DELETE CASCADE,
  terms    BLOB NOT NULL,
  sketch   BLOB NOT NULL
) STRICT;

-- generation grows with every change that a reader must see. token is random, so that a
-- file that was restored or copied never takes what is published of another generation for
-- its own. catalog tells this file from every other one: generations count in one file only.
CREATE TABLE state (
  one        INTEGER PRIMARY KEY CHECK (one = 1),
  generation INTEGER NOT NULL,
  token      INTEGER NOT NULL,
  catalog    TEXT NOT NULL
) STRICT;
INSERT INTO state VALUES (1, 0, 0, lower(hex(randomblob(8))));

-- changes is complete from the oldest of these generations on.
CREATE TABLE generations (
  number INTEGER PRIMARY KEY,
  token  INTEGER NOT NULL
) STRICT;
INSERT INTO generations VALUES (0, 0);

-- What a reader that knows an older generation must look at again. A row is
-- about what a search sees of a skill (model_id 0) or about its vectors of one
-- model, and holds the generation of the last change; the skill may be gone.
CREATE TABLE changes (
  skill_id   INTEGER NOT NULL,
  model_id   INTEGER NOT NULL,
  generation INTEGER NOT NULL,
  PRIMARY KEY (skill_id, model_id)
) STRICT, WITHOUT ROWID;
CREATE INDEX changes_by_generation ON changes (generation);

-- The generation grows when the transaction ends, and a skill may come to be
-- offered or shadowed because another one was deleted. Nothing can forget to
-- write these rows. A stamp alone changes nothing that a search sees.
CREATE TRIGGER skill_added AFTER INSERT ON skills BEGIN
  INSERT INTO changes SELECT NEW.id, 0, generation + 1 FROM state WHERE true
  ON CONFLICT DO UPDATE SET generation = excluded.generation;
END;
CREATE TRIGGER skill_changed
AFTER UPDATE OF source_id, path, digest, name, name_key, location, meta, refused ON skills BEGIN
  INSERT INTO changes SELECT NEW.id, 0, generation + 1 FROM state WHERE true
  ON CONFLICT DO UPDATE SET generation = excluded.generation;
END;
CREATE TRIGGER skill_shadowed
AFTER UPDATE OF shadowed_by ON skills WHEN NEW.shadowed_by IS NOT OLD.shadowed_by BEGIN
  INSERT INTO changes SELECT NEW.id, 0, generation + 1 FROM state WHERE true
  ON CONFLICT DO UPDATE SET generation = excluded.generation;
END;
CREATE TRIGGER skill_deleted AFTER DELETE ON skills BEGIN
  INSERT INTO changes SELECT OLD.id, 0, generation + 1 FROM state WHERE true
  ON CONFLICT DO UPDATE SET generation = excluded.generation;
END;

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
-- Full-text search gathers up to 16 MiB of words before it writes them out: with its
-- 1 MiB, indexing 20,000 skills merged small parts for a tenth of its time.
INSERT INTO fts (fts, rank) VALUES ('hashsize', 16777216);
