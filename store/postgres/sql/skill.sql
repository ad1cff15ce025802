SELECT o.label, s.path, s.digest, s.text_digest, s.tokens, s.name, s.description, s.location,
       s.tags, s.needs, s.triggers, d.body, s.problems
FROM repertoire.skills s JOIN repertoire.sources o ON o.catalog = s.catalog AND o.id = s.source
LEFT JOIN repertoire.documents d ON d.catalog = s.catalog AND d.skill = s.id
WHERE s.catalog = @catalog AND s.id = @skill
