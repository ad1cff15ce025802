SELECT o.label, s.id, s.problems
FROM repertoire.skills s JOIN repertoire.sources o ON o.catalog = s.catalog AND o.id = s.source
WHERE s.catalog = @catalog AND s.problems IS NOT NULL
ORDER BY o.away, o.priority DESC, o.label, s.path
