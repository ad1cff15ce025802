UPDATE sources SET walked = :time WHERE id = :source
