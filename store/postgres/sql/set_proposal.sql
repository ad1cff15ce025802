UPDATE repertoire.proposals SET waits = @waits, info = @info WHERE catalog = @catalog AND id = @id AND info = @was
