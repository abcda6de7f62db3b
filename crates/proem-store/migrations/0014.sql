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
