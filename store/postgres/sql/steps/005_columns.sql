SELECT catalog, id, tokens, text_digest, description, tags, needs, triggers FROM repertoire.skills
