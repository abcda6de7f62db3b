-- What triage keeps: signals as they came, versions of artefacts, and a line for each cycle. No purge of runs or of
-- actions and no retention touches them; a purge of their own takes texts and leaves ids, so that nothing is taken up
-- twice.

-- The projects that signals are triaged for.
CREATE TABLE triage_projects (
    project TEXT NOT NULL PRIMARY KEY,
    -- The id that the project's file gives it.
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- Signals, each revision once, in the order in which they came.
CREATE TABLE signals (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    project TEXT NOT NULL,
    id TEXT NOT NULL,
    revision TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    source TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- When it says that it happened; null where that is not known.
    time INTEGER,
    -- Its written form, by hash; null once it is gone.
    text TEXT,
    standing TEXT NOT NULL CHECK (standing IN ('open', 'set-aside', 'malformed', 'handled')),
    -- JSON: what came of it.
    outcome TEXT,
    -- The cycle that handled it.
    cycle INTEGER,
    UNIQUE (project, id, revision)
) STRICT;

CREATE INDEX signals_open ON signals (project, seq) WHERE standing = 'open';
CREATE INDEX signals_by_standing ON signals (project, standing);

-- Artefacts, every version of them.
CREATE TABLE artefact_versions (
    project TEXT NOT NULL,
    kind TEXT NOT NULL,
    version INTEGER NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- The written forms of the artefact and of what changed, by hash; null once they are gone.
    content TEXT,
    entry TEXT,
    -- JSON: the signals that it came from, each as id and revision.
    causes TEXT NOT NULL,
    PRIMARY KEY (project, kind, version)
) STRICT, WITHOUT ROWID;

-- A line for each cycle.
CREATE TABLE triage_cycles (
    project TEXT NOT NULL,
    cycle INTEGER NOT NULL,
    actor TEXT NOT NULL,
    began INTEGER NOT NULL,
    at INTEGER NOT NULL,
    -- JSON: what was counted.
    counts TEXT NOT NULL,
    PRIMARY KEY (project, cycle)
) STRICT, WITHOUT ROWID;
