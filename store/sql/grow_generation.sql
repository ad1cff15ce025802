UPDATE state SET generation = generation + 1
