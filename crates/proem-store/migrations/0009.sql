-- Effects that a witness knew of and these records did not, when a person adopted them: none of them happens again.

CREATE TABLE witnessed (
    -- The action's key, and the version that its taking up made.
    action TEXT NOT NULL,
    version INTEGER NOT NULL,
    -- What the witness says became of it; 'intent' where it says nothing.
    outcome TEXT NOT NULL CHECK (outcome IN ('intent', 'sent', 'failed', 'not-sent', 'unknown')),
    at INTEGER NOT NULL,
    actor TEXT NOT NULL,
    PRIMARY KEY (action, version)
) STRICT, WITHOUT ROWID;

-- The claims of those actions.
CREATE TABLE witnessed_claims (
    claim TEXT NOT NULL PRIMARY KEY,
    action TEXT NOT NULL
) STRICT, WITHOUT ROWID;
