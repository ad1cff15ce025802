SELECT generation FROM state
