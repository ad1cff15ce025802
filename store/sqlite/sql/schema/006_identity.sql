-- Which folder was at the root in the last complete walk. Where a disk is not mounted, an
-- empty folder is often in its place: its skills are away, not deleted.
ALTER TABLE sources ADD COLUMN identity TEXT NOT NULL DEFAULT '';
