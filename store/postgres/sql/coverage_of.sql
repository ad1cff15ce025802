SELECT count(*), count(v.hash)
FROM repertoire.texts t LEFT JOIN repertoire.vectors v ON v.catalog = t.catalog AND v.hash = t.hash
  AND v.model = (SELECT id FROM repertoire.models WHERE catalog = @catalog AND name = @model)
WHERE t.catalog = @catalog AND t.ordinal >= @from AND t.ordinal < @end AND t.skill = ANY (@rows::bigint[])
