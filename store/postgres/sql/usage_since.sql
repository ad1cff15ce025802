-- In pieces, each behind the last line of the one before.
SELECT at, id, line FROM repertoire.usage WHERE catalog = @catalog AND (at, id) > (@at::timestamptz, @id::bigint) ORDER BY at, id LIMIT 2000
