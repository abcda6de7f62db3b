-- Sums are kept by endpoint too, for two of them may have models of one name, at two prices. What is still written
-- down of attempts is added up anew under their calls' endpoints; what was deleted with its runs keeps its sums under
-- the endpoint '', which is unknown.

CREATE TABLE spend_by_endpoint (
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

-- The last correction counts, as in the sums before.
INSERT INTO spend_by_endpoint
SELECT project, day, model, endpoint, agent, prompt, count(*), sum(coalesce(nanos, 0)),
    sum(tokens), sum(state = 'unknown' AND NOT corrected), sum(nanos IS NULL)
FROM (
    SELECT a.project, a.day, coalesce(c.model, r.model) AS model, coalesce(c.endpoint, r.endpoint) AS endpoint,
        coalesce(c.agent, r.agent) AS agent, coalesce(c.prompt, r.prompt) AS prompt, a.state, u.tokens,
        coalesce((SELECT k.nanos FROM corrections k WHERE k.attempt = a.id ORDER BY k.seq DESC LIMIT 1), u.nanos)
            AS nanos,
        EXISTS (SELECT 1 FROM corrections k WHERE k.attempt = a.id) AS corrected
    FROM usage u JOIN attempts a ON a.id = u.attempt JOIN runs r ON r.id = a.run
    LEFT JOIN calls c ON c.run = a.run AND c.effect = a.effect
) GROUP BY day, project, model, endpoint, agent, prompt;

INSERT INTO spend_by_endpoint
SELECT s.project, s.day, s.model, '', s.agent, s.prompt, max(0, s.attempts - coalesce(k.attempts, 0)),
    max(0, s.nanos - coalesce(k.nanos, 0)), max(0, s.tokens - coalesce(k.tokens, 0)),
    max(0, s.unknown - coalesce(k.unknown, 0)), max(0, s.unpriced - coalesce(k.unpriced, 0))
FROM spend s LEFT JOIN (
    SELECT day, project, model, agent, prompt, sum(attempts) AS attempts, sum(nanos) AS nanos, sum(tokens) AS tokens,
        sum(unknown) AS unknown, sum(unpriced) AS unpriced
    FROM spend_by_endpoint GROUP BY day, project, model, agent, prompt
) k ON (k.day, k.project, k.model, k.agent, k.prompt) = (s.day, s.project, s.model, s.agent, s.prompt)
WHERE k.attempts IS NULL OR s.attempts > k.attempts OR s.nanos > k.nanos OR s.tokens > k.tokens;

DROP TABLE spend;

ALTER TABLE spend_by_endpoint RENAME TO spend;
