DELETE FROM files WHERE skill_id = :skill
