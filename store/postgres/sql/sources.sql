SELECT id, label, root, priority, walked, identity, away FROM repertoire.sources WHERE catalog = @catalog ORDER BY label
