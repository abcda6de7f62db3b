-- Each call has a prompt of its own, for a run may ask with several. Calls from before have their run's.

CREATE TABLE calls_with_prompts (
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

-- A call without its run is none that was ever written; it is kept all the same.
INSERT INTO calls_with_prompts (run, effect, project, actor, at, agent, prompt, version, closure, model, endpoint,
    tool, body, pieces, ended, state, result, finish, repairs, problems, dropped)
SELECT c.run, c.effect, c.project, c.actor, c.at, coalesce(r.agent, ''), coalesce(r.prompt, ''),
    coalesce(r.version, ''), coalesce(r.closure, ''), c.model, c.endpoint, c.tool, c.body, c.pieces, c.ended, c.state,
    c.result, c.finish, c.repairs, c.problems, c.dropped
FROM calls c LEFT JOIN runs r ON r.id = c.run ORDER BY c.run, c.effect;

DROP TABLE calls;

ALTER TABLE calls_with_prompts RENAME TO calls;
