INSERT INTO skills (source_id, path, stamp, digest, text_digest, name, name_key, description, location,
                    tags, needs, triggers, tokens, problems, refused)
VALUES (:source, :path, :stamp, :digest, :text_digest, :name, :name_key, :description, :location,
        :tags, :needs, :triggers, :tokens, :problems, :refused)
ON CONFLICT (source_id, path) DO UPDATE SET
  stamp = excluded.stamp, digest = excluded.digest, text_digest = excluded.text_digest, name = excluded.name, name_key = excluded.name_key,
  description = excluded.description, location = excluded.location, tags = excluded.tags,
  needs = excluded.needs, triggers = excluded.triggers, tokens = excluded.tokens,
  problems = excluded.problems, refused = excluded.refused, shadowed_by = NULL
RETURNING id
