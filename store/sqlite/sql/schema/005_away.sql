-- A source is away while it cannot be read at all. Its skills stay, but are not offered,
-- and shadow no others.
ALTER TABLE sources ADD COLUMN away INTEGER NOT NULL DEFAULT 0;

-- Within a source a skill whose folder has its name comes first: whether path is
-- "…/name/SKILL.md" or "name/SKILL.md".
ALTER TABLE skills ADD COLUMN own_folder INTEGER
  GENERATED ALWAYS AS (substr('/' || path, -10 - length(name), length(name) + 1) = '/' || name) VIRTUAL;
