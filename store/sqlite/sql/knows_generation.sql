SELECT EXISTS (SELECT 1 FROM generations WHERE number = :number AND token = :token)
