SELECT terms FROM terms_of WHERE skill_id = :skill
