-- The skills of a source that is apart neither hide skills of other sources that have their
-- names, nor are hidden by them, unless both are the same.
ALTER TABLE repertoire.sources ADD COLUMN apart boolean NOT NULL DEFAULT false;
