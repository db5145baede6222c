-- Servers beside the configuration file: those that were added at run time, and those of the file that were switched
-- off or on. The definition of a server of the file is null: what stands in the file is never copied.
CREATE TABLE server (
    id TEXT PRIMARY KEY NOT NULL,
    enabled INTEGER NOT NULL,
    definition TEXT
) STRICT;
