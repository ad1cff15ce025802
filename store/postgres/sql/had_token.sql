SELECT EXISTS (SELECT FROM repertoire.token_changes WHERE catalog = @catalog)
