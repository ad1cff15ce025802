-- The files of a skill are listed from its source when somebody asks for them.
DROP TABLE files;
