INSERT INTO repertoire.skills (catalog, id, source, refused, own_folder, path, stamp, digest,
  name, name_key, location, meta, problems)
SELECT @catalog, * FROM unnest(@rows::bigint[], @sources::bigint[], @refused::boolean[], @own_folder::boolean[],
  @paths::bytea[], @stamps::bytea[], @digests::bytea[], @names::bytea[],
  @name_keys::bytea[], @locations::bytea[], @metas::bytea[], @problems::bytea[])
ON CONFLICT (catalog, id) DO UPDATE SET refused = excluded.refused, own_folder = excluded.own_folder,
  stamp = excluded.stamp, digest = excluded.digest,
  name = excluded.name, name_key = excluded.name_key, location = excluded.location,
  meta = excluded.meta, problems = excluded.problems, shadowed_by = NULL
