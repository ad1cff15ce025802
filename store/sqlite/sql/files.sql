SELECT path, size, sha256 FROM files WHERE skill_id = :skill ORDER BY path
