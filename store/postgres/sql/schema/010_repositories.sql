-- The repository that an origin is of; '' means that it is not known, as of all sources before this.
ALTER TABLE repertoire.sources ADD COLUMN repository bytea NOT NULL DEFAULT '';
