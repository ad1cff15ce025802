-- The sources of all catalogs, those first that win names.
SELECT k.name, o.label, o.priority, o.away, o.origin, count(s.id), count(s.id) FILTER (WHERE s.refused)
FROM repertoire.catalogs k
JOIN repertoire.sources o ON o.catalog = k.id
LEFT JOIN repertoire.skills s ON s.catalog = o.catalog AND s.source = o.id
GROUP BY k.name, o.label, o.priority, o.away, o.origin
ORDER BY k.name, o.away, o.priority DESC, o.label
