ALTER TABLE repertoire.skills
  ALTER COLUMN meta DROP DEFAULT,
  DROP COLUMN tokens, DROP COLUMN text_digest, DROP COLUMN description,
  DROP COLUMN tags, DROP COLUMN needs, DROP COLUMN triggers;
