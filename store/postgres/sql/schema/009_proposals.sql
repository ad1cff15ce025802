-- Proposed changes of skills, and what was decided about them, see package store: Proposals.
CREATE TABLE repertoire.proposals (
  catalog bigint NOT NULL REFERENCES repertoire.catalogs ON DELETE CASCADE,
  id      bytea NOT NULL,
  waits   boolean NOT NULL,
  info    bytea NOT NULL,
  text    bytea NOT NULL,
  PRIMARY KEY (catalog, id)
);
