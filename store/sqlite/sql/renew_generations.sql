UPDATE generations SET token = random()
