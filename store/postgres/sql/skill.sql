SELECT o.label, s.path, s.digest, s.name, s.location, s.meta, d.body, s.problems
FROM repertoire.skills s JOIN repertoire.sources o ON o.catalog = s.catalog AND o.id = s.source
LEFT JOIN repertoire.documents d ON d.catalog = s.catalog AND d.skill = s.id
WHERE s.catalog = @catalog AND s.id = @skill
