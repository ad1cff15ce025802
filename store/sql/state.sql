SELECT catalog, generation, feed FROM state
