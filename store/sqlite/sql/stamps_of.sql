SELECT s.id, s.path, s.stamp, s.digest, s.name, s.location FROM json_each(:paths) p CROSS JOIN skills s ON s.source_id = :source AND s.path = p.value
