-- Made of the other files by the test that compares them; edit those.

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

CREATE TABLE action_claims (
    project TEXT NOT NULL,
    claim TEXT NOT NULL,
    action TEXT NOT NULL,
    actor TEXT NOT NULL,
    PRIMARY KEY (project, claim)
) STRICT, WITHOUT ROWID;

CREATE TABLE action_texts (
    action TEXT NOT NULL,
    text TEXT NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    PRIMARY KEY (action, text)
) STRICT, WITHOUT ROWID;

CREATE TABLE "actions" (
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
, shown TEXT, words TEXT) STRICT;

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

CREATE TABLE assignments (
    run TEXT NOT NULL,
    experiment TEXT NOT NULL,
    started INTEGER NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    prompt TEXT NOT NULL,
    version TEXT NOT NULL,
    subject TEXT NOT NULL,
    PRIMARY KEY (run, experiment)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE callers (
    run TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    caller TEXT NOT NULL,
    effect INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE "calls" (
    run TEXT NOT NULL,
    effect INTEGER NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    -- What its request was made from.
    agent TEXT NOT NULL,
    prompt TEXT NOT NULL,
    version TEXT NOT NULL,
    closure TEXT NOT NULL,
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

CREATE TABLE contents (
    hash TEXT NOT NULL PRIMARY KEY,
    bytes BLOB NOT NULL
) STRICT;

CREATE TABLE corrections (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    attempt INTEGER NOT NULL REFERENCES attempts (id),
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    nanos INTEGER NOT NULL,
    why TEXT NOT NULL
) STRICT;

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

CREATE TABLE effects_state (
    project TEXT NOT NULL PRIMARY KEY,
    store TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('on', 'off'))
) STRICT, WITHOUT ROWID;

CREATE TABLE epochs (
    id TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    began INTEGER NOT NULL,
    ended INTEGER,
    -- `closed` by itself, `dead` when another process found it gone.
    how TEXT CHECK (how IN ('closed', 'dead'))
) STRICT;

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

CREATE TABLE events (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    at INTEGER NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    run TEXT,
    what TEXT NOT NULL,
    details TEXT NOT NULL
) STRICT;

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
, source TEXT NOT NULL DEFAULT 'answer' CHECK (source IN ('answer', 'person'))) STRICT;

CREATE TABLE feedback (
    seq INTEGER NOT NULL PRIMARY KEY AUTOINCREMENT,
    run TEXT NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    verdict TEXT NOT NULL,
    note TEXT NOT NULL
) STRICT;

CREATE TABLE meta (
    key TEXT NOT NULL PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE "outcomes" (
    run TEXT NOT NULL,
    -- The prompt, such as `risk/decision`.
    agent TEXT NOT NULL,
    -- Who found it: code, in the `answer`, or a `person`.
    source TEXT NOT NULL CHECK (source IN ('answer', 'person')),
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    kind TEXT NOT NULL,
    quality TEXT NOT NULL,
    completeness TEXT NOT NULL,
    -- JSON list.
    risks TEXT NOT NULL,
    PRIMARY KEY (run, agent, source)
) STRICT, WITHOUT ROWID;

CREATE TABLE performers (
    project TEXT NOT NULL,
    epoch INTEGER NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    process TEXT NOT NULL,
    PRIMARY KEY (project, epoch)
) STRICT, WITHOUT ROWID;

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

CREATE TABLE snapshots (
    run TEXT NOT NULL PRIMARY KEY,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    step INTEGER NOT NULL,
    at INTEGER NOT NULL,
    sealed BLOB NOT NULL
) STRICT;

CREATE TABLE "spend" (
    project TEXT NOT NULL,
    day TEXT NOT NULL,
    model TEXT NOT NULL,
    -- Empty where it is not known.
    endpoint TEXT NOT NULL,
    agent TEXT NOT NULL,
    prompt TEXT NOT NULL,
    attempts INTEGER NOT NULL,
    nanos INTEGER NOT NULL,
    tokens INTEGER NOT NULL,
    -- How many attempts are booked in full for want of a report, and how many have no price.
    unknown INTEGER NOT NULL,
    unpriced INTEGER NOT NULL,
    PRIMARY KEY (day, project, model, endpoint, agent, prompt)
) STRICT, WITHOUT ROWID;

CREATE TABLE states (
    run TEXT NOT NULL,
    name TEXT NOT NULL,
    project TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL,
    sealed BLOB NOT NULL,
    PRIMARY KEY (run, name)
) STRICT;

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

CREATE TABLE triage_projects (
    project TEXT NOT NULL PRIMARY KEY,
    -- The id that the project's file gives it.
    id TEXT NOT NULL,
    name TEXT NOT NULL,
    actor TEXT NOT NULL,
    at INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE TABLE witnessed_claims (
    claim TEXT NOT NULL PRIMARY KEY,
    action TEXT NOT NULL
) STRICT, WITHOUT ROWID;

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

CREATE INDEX action_approvals_by_action ON action_approvals (action, seq);

CREATE UNIQUE INDEX action_approvals_standing ON action_approvals (action) WHERE used IS NULL AND void IS NULL;

CREATE INDEX actions_by_kind ON actions (project, name, kind, state, corrected);

CREATE INDEX actions_ended ON actions (ended) WHERE ended IS NOT NULL;

CREATE INDEX actions_open ON actions (project, coalesce(due, deadline), key) WHERE ended IS NULL;

CREATE INDEX approvals_by_run ON approvals (run);

CREATE INDEX assignments_by_experiment ON assignments (project, experiment, started);

CREATE INDEX attempts_open ON attempts (epoch) WHERE state = 'open';

CREATE INDEX callers_by_caller ON callers (caller, effect);

CREATE INDEX corrections_by_attempt ON corrections (attempt);

CREATE INDEX events_by_run ON events (run) WHERE run IS NOT NULL;

CREATE TRIGGER events_stay BEFORE DELETE ON events
WHEN (SELECT value FROM meta WHERE key = 'purging') IS NOT 'yes' BEGIN
    SELECT RAISE(ABORT, 'only a purge takes events away');
END;

CREATE TRIGGER events_stay_as_they_are BEFORE UPDATE ON events BEGIN
    SELECT RAISE(ABORT, 'events are never changed');
END;

CREATE INDEX failures_by_project ON failures (project, agent, at);

CREATE INDEX failures_by_run ON failures (run);

CREATE INDEX feedback_by_run ON feedback (run);

CREATE INDEX outcomes_by_agent ON outcomes (project, agent, at);

CREATE INDEX quarantined_by_sender ON quarantined (project, sender, state);

CREATE INDEX runs_by_project ON runs (project, seq, started, outcome, agent, prompt);

CREATE INDEX runs_by_start ON runs (started);

CREATE INDEX runs_open ON runs (epoch) WHERE state = 'running';

CREATE INDEX judgements_by_signal ON signal_judgements (project, id, revision);

CREATE INDEX signals_by_standing ON signals (project, standing);

CREATE INDEX signals_open ON signals (project, seq) WHERE standing = 'open';

CREATE INDEX transitions_by_project ON transitions (project, seq);

CREATE TRIGGER transitions_stay BEFORE DELETE ON transitions
WHEN (SELECT value FROM meta WHERE key = 'purging') IS NOT 'yes' BEGIN
    SELECT RAISE(ABORT, 'only a purge takes transitions away');
END;

CREATE TRIGGER transitions_stay_as_they_are BEFORE UPDATE ON transitions BEGIN
    SELECT RAISE(ABORT, 'transitions are never changed');
END;

CREATE TRIGGER usage_stays_as_it_is BEFORE UPDATE ON usage BEGIN
    SELECT RAISE(ABORT, 'usage is never changed; a correction stands beside it');
END;
