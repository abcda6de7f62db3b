-- Calls of tools: each has its intent, what became of it, and the label of what decided about it.
CREATE TABLE tool_calls (
    run TEXT NOT NULL,
    effect INTEGER NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    tool TEXT NOT NULL,
    power TEXT NOT NULL CHECK (power IN ('free', 'idempotent', 'effectful')),
    -- The key that is sent along, by which it happens once.
    key TEXT NOT NULL,
    -- The arguments and what became of the call, as JSON, by hash.
    arguments TEXT NOT NULL,
    result TEXT,
    -- The same, sealed, where a credential was taken out of the text.
    sealed BLOB,
    -- JSON: where the arguments came from, and what decided that the call is made.
    labels TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('pending', 'answered', 'failed', 'denied', 'unknown')),
    ended INTEGER,
    took_ms INTEGER NOT NULL,
    attempts INTEGER NOT NULL,
    -- The run that it started, where it is an agent's.
    child TEXT,
    PRIMARY KEY (run, effect)
) STRICT, WITHOUT ROWID;
