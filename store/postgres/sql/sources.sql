SELECT id, label, root, priority, walked, identity, away, origin, repository FROM repertoire.sources WHERE catalog = @catalog ORDER BY label
