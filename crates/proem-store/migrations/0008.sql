-- Actions in a table that is searched by short keys. Where the rows themselves are the tree, each step of a search reads
-- a whole row, and that of an action is some kilobytes (<https://www.sqlite.org/withoutrowid.html#when_to_use_without_rowid>).
CREATE TABLE actions_with_numbers (
    key TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    name TEXT NOT NULL,
    -- What credit and precedents are counted by, beside the name.
    kind TEXT NOT NULL,
    -- Digests of canonical forms; empty where there is none, or no longer.
    target TEXT NOT NULL,
    recipient TEXT NOT NULL,
    -- The hash of its canonical form, which an approval is bound to.
    content TEXT NOT NULL,
    -- Its written form, by hash; null once its texts are gone.
    form TEXT,
    state TEXT NOT NULL CHECK (state IN ('proposed', 'held', 'waiting', 'approved', 'executing', 'executed', 'failed',
        'unknown', 'resend', 'resending', 'cancelled', 'expired', 'refused')),
    version INTEGER NOT NULL,
    deadline INTEGER NOT NULL,
    due INTEGER,
    -- The epoch that took it up, while it is being executed.
    performer INTEGER,
    -- The exact bytes, by hash.
    bytes TEXT,
    -- JSON: what the policy said last.
    decision TEXT NOT NULL,
    run TEXT,
    step INTEGER,
    created INTEGER NOT NULL,
    ended INTEGER,
    -- When a person said that it should not have happened like this, and when its texts went.
    corrected INTEGER,
    purged INTEGER,
    -- Why it was corrected, in the person's own words.
    correction TEXT
) STRICT;

INSERT INTO actions_with_numbers SELECT * FROM actions ORDER BY key;
DROP TABLE actions;
ALTER TABLE actions_with_numbers RENAME TO actions;

CREATE INDEX actions_open ON actions (project, coalesce(due, deadline), key) WHERE ended IS NULL;
CREATE INDEX actions_by_kind ON actions (project, name, kind, state, corrected);
CREATE INDEX actions_ended ON actions (ended) WHERE ended IS NOT NULL;
