SELECT s.id, o.label, s.path, s.digest, s.name, s.name_key, s.location,
       s.meta, s.refused, ifnull(s.shadowed_by, 0)
FROM json_each(:ids) j CROSS JOIN skills s ON s.id = j.value JOIN sources o ON o.id = s.source_id
ORDER BY s.name_key, o.away, o.priority DESC, o.label, s.own_folder DESC, s.path
