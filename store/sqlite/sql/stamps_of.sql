SELECT s.id, s.path, s.stamp, s.digest FROM json_each(:paths) p CROSS JOIN skills s ON s.source_id = :source AND s.path = p.value
