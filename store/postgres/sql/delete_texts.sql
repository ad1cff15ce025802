DELETE FROM repertoire.texts WHERE catalog = @catalog AND skill = ANY (@rows::bigint[])
