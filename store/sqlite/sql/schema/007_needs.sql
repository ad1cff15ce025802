-- What a skill needs: a JSON object (see skill.Needs), '' if it needs nothing.
ALTER TABLE skills RENAME COLUMN requires TO needs;

-- Only the frontmatter says which of the names are commands: all skills are read again.
-- Their vectors stay. The generation gets a new token, so that nothing that was published
-- of the skills of before is taken for it.
DELETE FROM skills;
DELETE FROM changes;
INSERT INTO fts (fts) VALUES ('delete-all');
UPDATE sources SET walked = 0;
UPDATE state SET token = CASE generation WHEN 0 THEN 0 ELSE random() END;
DELETE FROM generations;
INSERT INTO generations SELECT generation, token FROM state;
