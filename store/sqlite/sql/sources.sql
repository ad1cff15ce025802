SELECT id, label, root, priority, walked, away FROM sources ORDER BY label
