-- A run may ask with several prompts, and each has a result of its own: a later good one of a prompt ends its earlier
-- bad ones, whatever became of the run's other prompts. A person may say how a result was, beside what code found.
--
-- What failed without an answer is no result of a prompt: a connection that broke, a limit, a time-out. Earlier forms
-- counted some of that. It stays written with its run and its calls, and is learned from no more. A call that ended
-- with a tool that was not offered is no longer told from those, so it is left out with them.

CREATE TABLE outcomes_by_prompt (
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

INSERT INTO outcomes_by_prompt
SELECT run, agent, 'answer', project, actor, at, kind, quality, completeness, risks FROM outcomes
WHERE (quality, completeness, risks) = ('high', 'complete', '[]')
    OR 'answered' = (SELECT c.state FROM calls c WHERE c.run = outcomes.run AND c.agent || '/' || c.prompt = outcomes.agent
        ORDER BY c.effect DESC LIMIT 1);

-- A run that was good was so with all its prompts.
INSERT OR IGNORE INTO outcomes_by_prompt
SELECT o.run, c.agent || '/' || c.prompt, 'answer', o.project, o.actor, o.at, o.kind, o.quality, o.completeness, o.risks
FROM outcomes o JOIN calls c ON c.run = o.run
WHERE (o.quality, o.completeness, o.risks) = ('high', 'complete', '[]') AND c.state = 'answered';

DROP TABLE outcomes;

ALTER TABLE outcomes_by_prompt RENAME TO outcomes;

CREATE INDEX outcomes_by_agent ON outcomes (project, agent, at);

DELETE FROM failures WHERE NOT EXISTS (SELECT 1 FROM outcomes o WHERE o.run = failures.run AND o.agent = failures.agent);

ALTER TABLE failures ADD COLUMN source TEXT NOT NULL DEFAULT 'answer' CHECK (source IN ('answer', 'person'));
