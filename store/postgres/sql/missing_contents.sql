-- OFFSET 0 makes the planner look each content up in the index, as in the next statements
-- about files: in a new catalog it knows nothing about the tables.
SELECT DISTINCT sum FROM unnest(@sums::bytea[]) sum
WHERE NOT EXISTS (SELECT 1 FROM repertoire.contents c WHERE catalog = @catalog AND c.sha256 = sum AND sha256(data) = sum OFFSET 0)
