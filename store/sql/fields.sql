SELECT fields FROM fields WHERE skill_id = :skill
