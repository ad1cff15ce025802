SELECT EXISTS (SELECT 1 FROM repertoire.generations WHERE catalog = @catalog AND number = @generation AND token = @token)
