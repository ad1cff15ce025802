SELECT o.label, s.path, s.digest, s.name, s.location, s.meta, b.body, s.problems
FROM skills s JOIN sources o ON o.id = s.source_id LEFT JOIN bodies b ON b.skill_id = s.id
WHERE s.id = :skill
