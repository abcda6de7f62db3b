-- The large parts of the latest state of a run, sealed, each once under a name that only its sealer can tell. The sealed
-- state in `snapshots` names them.
CREATE TABLE states (
    run TEXT NOT NULL,
    name TEXT NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (run, name)
) STRICT;

-- The run and its call of a tool that started a run. The parent of a run is what it is a fork of.
CREATE TABLE callers (
    run TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    caller TEXT NOT NULL,
    effect INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX callers_by_caller ON callers (caller, effect);
