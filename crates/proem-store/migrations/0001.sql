-- Everything that happened, per project and actor. Times are milliseconds since 1970 in UTC, money is
-- billionths of a dollar, hashes are SHA-256 in hexadecimal, an actor is `kind:id@channel`.

CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Texts and files by their hash, each once.
CREATE TABLE contents (
    hash TEXT NOT NULL PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;

-- One line for each process that books: what it left open when it died is settled in full.
CREATE TABLE epochs (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    began INTEGER NOT NULL,
    ended INTEGER,
    -- `closed` by itself, `dead` when another process found it gone.
    how TEXT CHECK (how IN ('closed', 'dead'))
) STRICT;

CREATE TABLE runs (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    id TEXT NOT NULL UNIQUE,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    epoch TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- The run that this one is a fork of.
    parent TEXT,
    agent TEXT NOT NULL,
    prompt TEXT NOT NULL,
    version TEXT NOT NULL,
    closure TEXT NOT NULL,
    -- What was asked for, such as `small`, and what stands behind it.
    role TEXT NOT NULL,
    model TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    -- The line of a batch.
    line INTEGER,
    started INTEGER NOT NULL,
    ended INTEGER,
    state TEXT NOT NULL CHECK (state IN ('running', 'asking', 'ended')),
    -- `answered`, `fell-back`, `failed`, `refused` (nothing was asked, for the budget's sake),
    -- `assembled`; null while it runs.
    outcome TEXT,
    because TEXT,
    -- JSON: names of files to hashes of what they held.
    files TEXT NOT NULL,
    inputs TEXT NOT NULL,
    -- JSON: everything else that the run was started with.
    settings TEXT NOT NULL,
    -- JSON: the prompt profile with what it was made from.
    profile TEXT NOT NULL,
    -- The value, by hash.
    value TEXT,
    -- `yes`, or why not.
    replayable TEXT NOT NULL,
    -- Sums over its attempts, kept with each settlement; null where one of them is unknown.
    input_tokens INTEGER,
    cache_read_tokens INTEGER,
    output_tokens INTEGER,
    nanos INTEGER,
    -- What `Numbers` holds.
    numbers TEXT NOT NULL
) STRICT;

-- The columns behind `seq` answer the conditions of a list without the line itself.
CREATE INDEX runs_by_project ON runs (project, seq, started, outcome, agent, prompt);
CREATE INDEX runs_by_start ON runs (started);
CREATE INDEX runs_open ON runs (epoch) WHERE state = 'running';

-- Every event that a run took, in order.
CREATE TABLE steps (
    run TEXT NOT NULL,
    step INTEGER NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- The event as JSON, by hash.
    event TEXT NOT NULL,
    PRIMARY KEY (run, step)
) STRICT, WITHOUT ROWID;

-- The latest sealed state of each run that has not ended.
CREATE TABLE snapshots (
    run TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    step INTEGER NOT NULL,
    at INTEGER NOT NULL,
    sealed BLOB NOT NULL
) STRICT;

CREATE TABLE assemblies (
    run TEXT NOT NULL,
    effect INTEGER NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- JSON: the sections with their labels and the hashes of their texts.
    sections TEXT NOT NULL,
    tokens INTEGER NOT NULL,
    stable_tokens INTEGER NOT NULL,
    monolithic_tokens INTEGER,
    counter TEXT NOT NULL,
    -- JSON: the cache plan.
    plan TEXT NOT NULL,
    -- The account, by hash.
    report TEXT NOT NULL,
    PRIMARY KEY (run, effect)
) STRICT, WITHOUT ROWID;

-- Calls of models. A call without an end whose epoch is over is `unknown`.
CREATE TABLE calls (
    run TEXT NOT NULL,
    effect INTEGER NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    model TEXT NOT NULL,
    endpoint TEXT NOT NULL,
    -- What the answer is bound to: a contract's name, or null for any text.
    tool TEXT,
    -- The body: its hash, and how it is put together from contents.
    body TEXT NOT NULL,
    pieces TEXT NOT NULL,
    ended INTEGER,
    state TEXT NOT NULL CHECK (state IN ('pending', 'answered', 'failed', 'unknown')),
    -- The response or the failure as JSON, by hash.
    result TEXT,
    finish TEXT,
    -- JSON lists.
    repairs TEXT NOT NULL DEFAULT '[]',
    problems TEXT NOT NULL DEFAULT '[]',
    dropped TEXT NOT NULL DEFAULT '[]',
    PRIMARY KEY (run, effect)
) STRICT, WITHOUT ROWID;

-- One line for each time that a call was sent: an intent with a reservation.
CREATE TABLE attempts (
    id INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    effect INTEGER NOT NULL,
    attempt INTEGER NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    epoch TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- The day that it is booked to, as 2026-11-22 in the declared zone.
    day TEXT NOT NULL,
    -- The most that it can take; null where the price is unknown.
    most_nanos INTEGER,
    most_tokens INTEGER NOT NULL,
    -- `open`, then `reported`, `unsent` (nothing was used) or `unknown` (booked in full).
    state TEXT NOT NULL CHECK (state IN ('open', 'reported', 'unsent', 'unknown')),
    UNIQUE (run, effect, attempt)
) STRICT;

CREATE INDEX attempts_open ON attempts (epoch) WHERE state = 'open';

-- What became of an attempt; what is booked for it.
CREATE TABLE usage (
    attempt INTEGER NOT NULL PRIMARY KEY REFERENCES attempts (id),
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    status INTEGER,
    failed TEXT,
    bytes INTEGER NOT NULL,
    took_ms INTEGER NOT NULL,
    waited_ms INTEGER NOT NULL,
    input_tokens INTEGER,
    cache_read_tokens INTEGER,
    cache_written_tokens INTEGER,
    output_tokens INTEGER,
    -- JSON: the usage as it was reported; null where none was.
    reported TEXT,
    -- What is booked: by the report, or in full. `nanos` is null where the price is unknown.
    nanos INTEGER,
    tokens INTEGER NOT NULL
) STRICT;

-- What a person put right in the ledger.
CREATE TABLE corrections (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    attempt INTEGER NOT NULL REFERENCES attempts (id),
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    nanos INTEGER NOT NULL,
    why TEXT NOT NULL
) STRICT;

CREATE INDEX corrections_by_attempt ON corrections (attempt);

-- Sums of what is booked, kept in the same transaction as every booking.
CREATE TABLE spend (
    project TEXT NOT NULL,
    day TEXT NOT NULL,
    model TEXT NOT NULL,
    agent TEXT NOT NULL,
    prompt TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    nanos INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    -- How many attempts are booked in full for want of a report, and how many have no price.
    unknown INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    PRIMARY KEY (day, project, model, agent, prompt)
) STRICT, WITHOUT ROWID;

-- How good the result of each run was.
CREATE TABLE outcomes (
    run TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    quality TEXT NOT NULL,
    completeness TEXT NOT NULL,
    -- JSON list.
    risks TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE INDEX outcomes_by_agent ON outcomes (project, agent, at);

-- Results from which the next prompts learn.
CREATE TABLE failures (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    agent TEXT NOT NULL,
    kind TEXT NOT NULL,
    -- JSON: quality, completeness, risks.
    issue TEXT NOT NULL,
    -- When a person cleared it; it then counts no more, until that is undone.
    cleared INTEGER
) STRICT;

CREATE INDEX failures_by_project ON failures (project, agent, at);
CREATE INDEX failures_by_run ON failures (run);

CREATE TABLE feedback (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    note TEXT NOT NULL
) STRICT;

CREATE INDEX feedback_by_run ON feedback (run);

-- What runs asked, and what persons answered.
CREATE TABLE approvals (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    step INTEGER NOT NULL,
    question TEXT NOT NULL,
    options TEXT NOT NULL,
    answer INTEGER
) STRICT;

CREATE INDEX approvals_by_run ON approvals (run);

-- What happened, in order. Lines are only ever added; `purge` alone takes some away.
CREATE TABLE events (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    run TEXT,
    what TEXT NOT NULL,
    details TEXT NOT NULL
) STRICT;

CREATE INDEX events_by_run ON events (run) WHERE run IS NOT NULL;

CREATE TRIGGER events_stay_as_they_are BEFORE UPDATE ON events BEGIN
    SELECT RAISE(ABORT, 'events are never changed');
END;

CREATE TRIGGER events_stay BEFORE DELETE ON events
WHEN (SELECT value FROM meta WHERE key = 'purging') IS NOT 'yes' BEGIN
    SELECT RAISE(ABORT, 'only a purge takes events away');
END;

CREATE TRIGGER usage_stays_as_it_is BEFORE UPDATE ON usage BEGIN
    SELECT RAISE(ABORT, 'usage is never changed; a correction stands beside it');
END;
