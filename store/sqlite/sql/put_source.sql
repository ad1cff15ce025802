INSERT INTO sources (label, root, priority) VALUES (:label, :root, :priority)
ON CONFLICT (label) DO UPDATE SET root = excluded.root, priority = excluded.priority
RETURNING id
