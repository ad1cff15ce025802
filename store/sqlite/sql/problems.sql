SELECT o.label, s.id, s.problems FROM skills s JOIN sources o ON o.id = s.source_id
WHERE s.problems IS NOT NULL ORDER BY o.away, o.priority DESC, o.label, s.path
