SELECT count(*) FILTER (WHERE refused = 0 AND shadowed_by IS NULL), count(*) FROM skills
