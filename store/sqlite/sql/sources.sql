SELECT id, label, root, priority, walked FROM sources ORDER BY label
