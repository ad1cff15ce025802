UPDATE sources SET walked = :time WHERE id = :source AND walked = 0
