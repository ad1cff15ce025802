SELECT count(*) FROM skills
