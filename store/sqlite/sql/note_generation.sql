INSERT INTO generations SELECT generation, token FROM state
