SELECT s.id, o.label, s.path, s.digest, s.name, s.name_key, s.location,
       s.meta, s.refused, coalesce(s.shadowed_by, 0)
FROM repertoire.skills s JOIN repertoire.sources o ON o.catalog = s.catalog AND o.id = s.source
WHERE s.catalog = @catalog
ORDER BY s.name_key, o.away, o.priority DESC, o.label, s.own_folder DESC, s.path
