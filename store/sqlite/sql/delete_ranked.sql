DELETE FROM ranked WHERE skill_id = :skill
