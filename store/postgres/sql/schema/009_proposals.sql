-- Proposed changes of skills, and what was decided about them, see package store: Proposals.
CREATE TABLE repertoire.proposals (
  catalog bigint NOT NULL REFERENCES repertoire.catalogs ON DELETE CASCADE,
  id      bytea NOT NULL,
  waits   boolean NOT NULL,
  info    bytea NOT NULL CHECK (octet_length(info) <= 262144),  -- each list reads it of all
  text    bytea NOT NULL CHECK (octet_length(text) <= 134217728),
  PRIMARY KEY (catalog, id)
);
