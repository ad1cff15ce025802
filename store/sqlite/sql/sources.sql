SELECT id, label, root, priority, apart, walked, identity, away FROM sources ORDER BY label
