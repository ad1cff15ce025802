-- The identity is that of the folder at the root, so another root has another one.
INSERT INTO sources (label, root, priority, away) VALUES (:label, :root, :priority, :away)
ON CONFLICT (label) DO UPDATE SET root = excluded.root, priority = excluded.priority, away = excluded.away,
  identity = CASE WHEN root = excluded.root THEN identity ELSE '' END
RETURNING id
