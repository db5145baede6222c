-- The operator's word about tools: what was reviewed, and which classes were set.

-- A server is in here from its first listing on: without its row the next listing is the first one.
CREATE TABLE baseline (
    server TEXT PRIMARY KEY NOT NULL,
    since INTEGER NOT NULL
) STRICT;

-- What is remembered of each tool: its definition as reviewed, if anybody has, and the last other one that was told of.
CREATE TABLE reviewed (
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    definition TEXT,
    told TEXT,
    PRIMARY KEY (server, tool)
) STRICT;

-- Classes that an admin set for good. Those of the configuration file are not in here.
CREATE TABLE override (
    server TEXT NOT NULL,
    tool TEXT NOT NULL,
    safety_class TEXT NOT NULL,
    PRIMARY KEY (server, tool)
) STRICT;
