-- The digest of SKILL.md alone tells whether the instructions have changed. All
-- skills are read again to fill it in.
ALTER TABLE skills ADD COLUMN text_digest TEXT NOT NULL DEFAULT '';
UPDATE skills SET stamp = '', digest = '';
