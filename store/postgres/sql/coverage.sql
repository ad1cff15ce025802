-- OFFSET 0 makes the planner look each text up in the index; in a new catalog it would read
-- all vectors for each.
SELECT count(*), count(v.hash)
FROM repertoire.texts t LEFT JOIN LATERAL (
  SELECT hash FROM repertoire.vectors WHERE catalog = @catalog AND hash = t.hash
    AND model = (SELECT id FROM repertoire.models WHERE catalog = @catalog AND name = @model) OFFSET 0
) v ON true
WHERE t.catalog = @catalog AND t.ordinal >= @from AND t.ordinal < @end
