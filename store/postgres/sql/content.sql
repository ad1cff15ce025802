SELECT data FROM repertoire.contents WHERE catalog = @catalog AND sha256 = @sum
