SELECT id, label, root, priority, apart, walked, identity, away, origin, repository FROM repertoire.sources WHERE catalog = @catalog ORDER BY label
