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

-- catalog tells this file from every other one: generations count in one file
-- only. changes is complete from the generation feed on.
ALTER TABLE state ADD COLUMN catalog TEXT NOT NULL DEFAULT '';
ALTER TABLE state ADD COLUMN feed INTEGER NOT NULL DEFAULT 0;
UPDATE state SET catalog = lower(hex(randomblob(8))), feed = generation;

-- The generation grows when the transaction ends, and a skill may come to be
-- offered or shadowed because another one was deleted. Nothing can forget to
-- write these rows. A stamp alone changes nothing that a search sees.
CREATE TRIGGER skill_added AFTER INSERT ON skills BEGIN
  INSERT INTO changes SELECT NEW.id, 0, generation + 1 FROM state WHERE true
  ON CONFLICT DO UPDATE SET generation = excluded.generation;
END;
CREATE TRIGGER skill_changed
AFTER UPDATE OF source_id, path, digest, name, name_key, description, location, tags, requires, tokens, refused ON skills BEGIN
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
