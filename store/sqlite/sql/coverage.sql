SELECT count(*), ifnull(sum(v.hash IS NOT NULL), 0)
FROM texts t LEFT JOIN vectors v
  ON v.hash = t.hash AND v.model_id = (SELECT id FROM models WHERE name = :model)
WHERE t.ordinal >= :from AND t.ordinal < :end
