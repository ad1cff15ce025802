DELETE FROM fields WHERE skill_id = :skill
