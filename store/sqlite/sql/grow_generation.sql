UPDATE state SET generation = generation + 1, token = random()
