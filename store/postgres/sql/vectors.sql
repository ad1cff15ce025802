SELECT t.ordinal, v.vector
FROM repertoire.texts t
JOIN repertoire.models m ON m.catalog = t.catalog AND m.name = @model
JOIN repertoire.vectors v ON v.catalog = t.catalog AND v.model = m.id AND v.hash = t.hash
WHERE t.catalog = @catalog AND t.skill = @skill
ORDER BY t.ordinal
