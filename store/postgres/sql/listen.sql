LISTEN repertoire
