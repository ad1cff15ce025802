DELETE FROM repertoire.files WHERE catalog = @catalog AND skill = ANY (@rows::bigint[])
