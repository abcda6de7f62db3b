-- The version of a prompt that an experiment chose for the subject of a run. `started` is the experiment's start, by
-- which its runs differ from those of an earlier start.
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
CREATE INDEX assignments_by_experiment ON assignments (project, experiment, started);
