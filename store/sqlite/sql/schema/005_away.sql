-- A source is away while it cannot be read at all. Its skills stay, but are not offered,
-- and shadow no others.
ALTER TABLE sources ADD COLUMN away INTEGER NOT NULL DEFAULT 0;
