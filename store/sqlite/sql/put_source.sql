-- The identity is that of the folder at the root, so another root has another one.
INSERT INTO sources (label, root, priority, apart, away) VALUES (:label, :root, :priority, :apart, :away)
ON CONFLICT (label) DO UPDATE SET root = excluded.root, priority = excluded.priority, apart = excluded.apart, away = excluded.away,
  identity = CASE WHEN root = excluded.root THEN identity ELSE '' END
RETURNING id
