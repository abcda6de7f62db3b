-- Precedents are counted for each action that is due: without a look at the actions themselves.
DROP INDEX actions_by_kind;
CREATE INDEX actions_by_kind ON actions (project, name, kind, state, corrected);
