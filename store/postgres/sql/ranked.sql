SELECT terms, sketch FROM repertoire.documents WHERE catalog = @catalog AND skill = @skill
