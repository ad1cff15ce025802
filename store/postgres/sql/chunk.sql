SELECT data FROM repertoire.chunks WHERE catalog = @catalog AND upload = @upload AND ordinal = @ordinal
