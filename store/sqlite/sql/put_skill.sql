INSERT INTO skills (source_id, path, stamp, digest, name, name_key, location, meta, problems, refused)
VALUES (:source, :path, :stamp, :digest, :name, :name_key, :location, :meta, :problems, :refused)
ON CONFLICT (source_id, path) DO UPDATE SET
  stamp = excluded.stamp, digest = excluded.digest, name = excluded.name, name_key = excluded.name_key,
  location = excluded.location, meta = excluded.meta,
  problems = excluded.problems, refused = excluded.refused, shadowed_by = NULL
RETURNING id
