-- Which repository or machine pushes a source, see package push; '' means that nobody said so.
ALTER TABLE repertoire.sources ADD COLUMN origin bytea NOT NULL DEFAULT '';
