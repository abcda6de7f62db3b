-- Beside what a person answered to a run: the hash of everything that was shown, and the person's own words. What was
-- answered before has neither.
ALTER TABLE approvals ADD COLUMN shown TEXT;
ALTER TABLE approvals ADD COLUMN words TEXT;
