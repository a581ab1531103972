-- Warehouses are made and changed while servers run. profile: the storage and what clients are told,
-- a JSON object; '' for the default warehouse, which settings describe. version changes with every
-- change of the row.

ALTER TABLE warehouse ADD COLUMN profile TEXT NOT NULL DEFAULT '';

ALTER TABLE warehouse ADD COLUMN active BIGINT NOT NULL DEFAULT 1;

ALTER TABLE warehouse ADD COLUMN version BIGINT NOT NULL DEFAULT 1;
