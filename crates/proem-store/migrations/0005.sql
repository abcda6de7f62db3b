-- What agents propose, and what becomes of it. An action, its bytes and what persons say of it are here until a
-- purge of ended actions takes the texts; a key and its claims stay for good, so that nothing happens twice.

CREATE TABLE actions (
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
) STRICT, WITHOUT ROWID;

CREATE INDEX actions_open ON actions (project, coalesce(due, deadline), key) WHERE ended IS NULL;
CREATE INDEX actions_by_kind ON actions (project, name, kind, state);
CREATE INDEX actions_ended ON actions (ended) WHERE ended IS NOT NULL;

-- One action for each signal in one revision, name and target.
CREATE TABLE action_claims (
    project TEXT NOT NULL,
    claim TEXT NOT NULL,
    action TEXT NOT NULL,
    actor TEXT NOT NULL,
    PRIMARY KEY (project, claim)
) STRICT, WITHOUT ROWID;

-- Texts that an action still needs, such as those of its causes.
CREATE TABLE action_texts (
    action TEXT NOT NULL,
    text TEXT NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    PRIMARY KEY (action, text)
) STRICT, WITHOUT ROWID;

-- What happened to actions, in order. Lines are only ever added; a purge alone takes some away.
CREATE TABLE transitions (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    action TEXT NOT NULL,
    -- The version that it made.
    version INTEGER NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    event TEXT NOT NULL,
    state_before TEXT NOT NULL,
    state_after TEXT NOT NULL,
    epoch INTEGER,
    policy TEXT NOT NULL,
    -- The written form that an edit replaced, and the bytes that were taken up, by hash.
    form TEXT,
    bytes TEXT,
    -- JSON.
    details TEXT NOT NULL,
    UNIQUE (action, version)
) STRICT;

CREATE INDEX transitions_by_project ON transitions (project, seq);

CREATE TRIGGER transitions_stay_as_they_are BEFORE UPDATE ON transitions BEGIN
    SELECT RAISE(ABORT, 'transitions are never changed');
END;

CREATE TRIGGER transitions_stay BEFORE DELETE ON transitions
WHEN (SELECT value FROM meta WHERE key = 'purging') IS NOT 'yes' BEGIN
    SELECT RAISE(ABORT, 'only a purge takes transitions away');
END;

-- Persons' approvals of what was shown. One at most stands for an action.
CREATE TABLE action_approvals (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    action TEXT NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL CHECK (kind IN ('approve', 'release', 'resend')),
    breadth TEXT NOT NULL CHECK (breadth IN ('single', 'bulk')),
    content TEXT NOT NULL,
    policy TEXT NOT NULL,
    expires INTEGER NOT NULL,
    used INTEGER,
    void INTEGER
) STRICT;

CREATE UNIQUE INDEX action_approvals_standing ON action_approvals (action) WHERE used IS NULL AND void IS NULL;
CREATE INDEX action_approvals_by_action ON action_approvals (action, seq);

CREATE TABLE escalations (
    project TEXT NOT NULL,
    id TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- The action that it is about, if there is one.
    action TEXT,
    reason TEXT NOT NULL,
    sensitivity TEXT NOT NULL,
    deadline INTEGER,
    state TEXT NOT NULL CHECK (state IN ('open', 'decided', 'withdrawn')),
    ended INTEGER,
    purged INTEGER,
    PRIMARY KEY (project, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE escalation_options (
    project TEXT NOT NULL,
    escalation TEXT NOT NULL,
    place INTEGER NOT NULL,
    id TEXT NOT NULL,
    actor TEXT NOT NULL,
    label TEXT NOT NULL,
    -- The written form of its action, by hash; null where it has none.
    form TEXT,
    PRIMARY KEY (project, escalation, id)
) STRICT, WITHOUT ROWID;

CREATE TABLE decisions (
    project TEXT NOT NULL,
    escalation TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    option TEXT NOT NULL,
    -- The person's own words.
    words TEXT NOT NULL,
    PRIMARY KEY (project, escalation)
) STRICT, WITHOUT ROWID;

-- Approvals of one kind of action to one recipient since the last no.
CREATE TABLE credits (
    project TEXT NOT NULL,
    name TEXT NOT NULL,
    recipient TEXT NOT NULL,
    kind TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    approvals INTEGER NOT NULL,
    -- The day of the last one that counted, in the declared zone; empty before the first.
    day TEXT NOT NULL,
    PRIMARY KEY (project, name, recipient, kind)
) STRICT, WITHOUT ROWID;

-- Fields of signals that stay out until a person has looked.
CREATE TABLE quarantined (
    project TEXT NOT NULL,
    signal TEXT NOT NULL,
    revision TEXT NOT NULL,
    field TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- The text, by hash; null once it is gone.
    text TEXT,
    -- JSON.
    findings TEXT NOT NULL,
    verdict TEXT NOT NULL,
    sender TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('quarantined', 'released', 'dismissed')),
    settled INTEGER,
    settled_by TEXT,
    PRIMARY KEY (project, signal, revision, field)
) STRICT, WITHOUT ROWID;

CREATE INDEX quarantined_by_sender ON quarantined (project, sender, state);

-- The lives of performers of effects; the last of a project is in force.
CREATE TABLE performers (
    project TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    process TEXT NOT NULL,
    PRIMARY KEY (project, epoch)
) STRICT, WITHOUT ROWID;

-- For which store a project has effects on.
CREATE TABLE effects_state (
    project TEXT NOT NULL PRIMARY KEY,
    store TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('on', 'off'))
) STRICT, WITHOUT ROWID;
