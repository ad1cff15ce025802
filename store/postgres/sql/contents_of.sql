SELECT DISTINCT sha256 FROM repertoire.files WHERE catalog = @catalog AND skill = ANY (@rows::bigint[])
