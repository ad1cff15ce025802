-- Changes does not tell what this generation is going to change.
UPDATE state SET feed = generation + 1
