INSERT INTO repertoire.sources (catalog, id, label, root, priority, apart, walked, identity, away, origin, repository)
VALUES (@catalog, @source, @label, @root, @priority, @apart, @walked, @identity, @away, @origin, @repository)
ON CONFLICT (catalog, id) DO UPDATE SET root = excluded.root, priority = excluded.priority, apart = excluded.apart,
  walked = excluded.walked, identity = excluded.identity, away = excluded.away, origin = excluded.origin,
  repository = excluded.repository
