DELETE FROM repertoire.documents WHERE catalog = @catalog AND skill = ANY (@rows::bigint[])
