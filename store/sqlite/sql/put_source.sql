INSERT INTO sources (label, root, priority, away) VALUES (:label, :root, :priority, :away)
ON CONFLICT (label) DO UPDATE SET root = excluded.root, priority = excluded.priority, away = excluded.away
RETURNING id
