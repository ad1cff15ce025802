-- text_digest is the hexadecimal SHA-256 of SKILL.md alone: it tells whether the
-- instructions have changed.
ALTER TABLE skills ADD COLUMN text_digest TEXT NOT NULL DEFAULT '';

-- A generation is a number and a random token, so that a file that was restored
-- or copied never takes what is published of another generation for its own.
-- changes is complete from the oldest of these generations on.
ALTER TABLE state ADD COLUMN token INTEGER NOT NULL DEFAULT 0;
CREATE TABLE generations (
  number INTEGER PRIMARY KEY,
  token  INTEGER NOT NULL
) STRICT;
UPDATE state SET token = CASE generation WHEN 0 THEN 0 ELSE random() END;
INSERT INTO generations SELECT generation, token FROM state;
ALTER TABLE state DROP COLUMN feed;

-- The terms of a skill are packed in another form: all skills are read again.
-- Their vectors stay, because somebody may have paid for them.
DELETE FROM skills;
DELETE FROM changes;
INSERT INTO fts (fts) VALUES ('delete-all');
UPDATE sources SET walked = 0;

-- What ranking by text reads of each skill: its terms with counts, see skill.Terms,
-- and the sketch of its body, see words.Sketch. Full-text search must be told the
-- same terms, in any order, to forget them: only then do its counts, on which
-- scores depend, become what they would be if the skill had never been there.
DROP TABLE fields;
CREATE TABLE ranked (
  skill_id INTEGER PRIMARY KEY REFERENCES skills (id) ON DELETE CASCADE,
  terms    BLOB NOT NULL,
  sketch   BLOB NOT NULL
) STRICT;

-- Full-text search gathers up to 16 MiB of words before it writes them out: with its
-- 1 MiB, indexing 20,000 skills merged small parts for a tenth of its time.
INSERT INTO fts (fts, rank) VALUES ('hashsize', 16777216);
