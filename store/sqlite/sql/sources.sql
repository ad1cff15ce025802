SELECT id, label, root, priority, walked, identity, away FROM sources ORDER BY label
