DELETE FROM bodies WHERE skill_id = :skill
