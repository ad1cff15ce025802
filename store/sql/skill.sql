SELECT o.label, s.path, s.digest, s.name, s.description, s.location,
       s.tags, s.requires, s.frontmatter, s.body, s.problems
FROM skills s JOIN sources o ON o.id = s.source_id
WHERE s.id = :skill
