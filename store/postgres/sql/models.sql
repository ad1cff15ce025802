SELECT m.id, m.name, coalesce((SELECT length(v.vector) - 4 FROM repertoire.vectors v
                         WHERE v.catalog = m.catalog AND v.model = m.id LIMIT 1), 0)
FROM repertoire.models m WHERE m.catalog = @catalog ORDER BY m.name
