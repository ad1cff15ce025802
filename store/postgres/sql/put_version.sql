UPDATE repertoire.schema SET version = @version
