SELECT o.label, s.path, s.digest, s.text_digest, s.tokens, s.name, s.description, s.location,
       s.tags, s.needs, s.triggers, b.body, s.problems
FROM skills s JOIN sources o ON o.id = s.source_id LEFT JOIN bodies b ON b.skill_id = s.id
WHERE s.id = :skill
