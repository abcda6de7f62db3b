-- Persons' judgements of how much signals matter. A purge of triage takes notes and leaves the rest, which is counted.
CREATE TABLE signal_judgements (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    id TEXT NOT NULL,
    revision TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    importance TEXT NOT NULL CHECK (importance IN ('critical', 'high', 'medium', 'low')),
    -- The importance that the person overruled.
    before TEXT NOT NULL CHECK (before IN ('critical', 'high', 'medium', 'low')),
    category TEXT NOT NULL,
    -- The address of a stakeholder as the project's file has it; empty for everybody else.
    sender TEXT NOT NULL,
    -- The person's own words; null without any, and once they are gone.
    note TEXT
) STRICT;

CREATE INDEX judgements_by_signal ON signal_judgements (project, id, revision);
