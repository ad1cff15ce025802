-- What no statement searches by is one record, so that a new field of a skill changes nothing
-- here: see package skill, Meta.Pack. The program itself packs the columns of before, which
-- the next file drops.
ALTER TABLE repertoire.skills ADD COLUMN meta bytea NOT NULL DEFAULT '';
