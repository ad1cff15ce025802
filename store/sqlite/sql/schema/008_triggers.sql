-- Which prompts want a skill, as its author says: a JSON object (see skill.Triggers), '' if he
-- says nothing.
ALTER TABLE skills ADD COLUMN triggers TEXT NOT NULL DEFAULT '';

-- Only the frontmatter has them: all skills are read again. Their vectors stay. The generation
-- gets a new token, so that no reader takes what was published before for the new catalog.
DELETE FROM skills;
DELETE FROM changes;
INSERT INTO fts (fts) VALUES ('delete-all');
UPDATE sources SET walked = 0;
UPDATE state SET token = CASE generation WHEN 0 THEN 0 ELSE random() END;
DELETE FROM generations;
INSERT INTO generations SELECT generation, token FROM state;
