INSERT INTO repertoire.skills (catalog, id, source, refused, own_folder, tokens, path, stamp, digest, text_digest,
  name, name_key, location, description, tags, needs, triggers, problems)
SELECT @catalog, * FROM unnest(@rows::bigint[], @sources::bigint[], @refused::boolean[], @own_folder::boolean[],
  @tokens::bigint[], @paths::bytea[], @stamps::bytea[], @digests::bytea[], @text_digests::bytea[], @names::bytea[],
  @name_keys::bytea[], @locations::bytea[], @descriptions::bytea[], @tags::bytea[], @needs::bytea[],
  @triggers::bytea[], @problems::bytea[])
ON CONFLICT (catalog, id) DO UPDATE SET refused = excluded.refused, own_folder = excluded.own_folder,
  tokens = excluded.tokens, stamp = excluded.stamp, digest = excluded.digest, text_digest = excluded.text_digest,
  name = excluded.name, name_key = excluded.name_key, location = excluded.location,
  description = excluded.description, tags = excluded.tags, needs = excluded.needs,
  triggers = excluded.triggers, problems = excluded.problems, shadowed_by = NULL
