-- How far the signals of each source of a project were read. `cursor` is where the next reading goes on, as JSON; a
-- purge leaves it, because it holds no text of anybody's.
CREATE TABLE sync_sources (
    project TEXT NOT NULL,
    source TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    cursor TEXT NOT NULL,
    -- When the source was last read to its end; null before that.
    ended INTEGER,
    -- Why the last reading broke off, in words of ours; null if it did not.
    failure TEXT,
    PRIMARY KEY (project, source)
) STRICT, WITHOUT ROWID;

-- Work that waits for a process: one line for each project and kind. The queue of a server only wakes workers; this line
-- says what is done, by whom, and how often it was tried.
CREATE TABLE work (
    project TEXT NOT NULL,
    -- `triage` for signals to work on, `effects` for actions to perform.
    kind TEXT NOT NULL CHECK (kind IN ('triage', 'effects')),
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- How often it was wanted, and the number of wishes that are fulfilled.
    wanted INTEGER NOT NULL CHECK (wanted >= done),
    done INTEGER NOT NULL,
    -- Not before this time.
    due INTEGER NOT NULL,
    -- How often it was begun since it last succeeded.
    attempts INTEGER NOT NULL,
    -- Counts beginnings and ends, so that whoever lost the work ends nothing.
    version INTEGER NOT NULL,
    -- The epoch of the process that does it, the name of that process, since when and until when; null if nobody does.
    holder TEXT,
    worker TEXT,
    since INTEGER,
    lease INTEGER,
    -- Why the last attempt failed, in words of ours; null if it did not.
    problem TEXT,
    PRIMARY KEY (project, kind),
    CHECK ((holder IS NULL) = (worker IS NULL) AND (holder IS NULL) = (since IS NULL) AND (holder IS NULL) = (lease IS NULL))
) STRICT, WITHOUT ROWID;
