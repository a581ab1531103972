-- A purge spares what another table names. survey: how far each table's metadata has been read for
-- that. sequence_number: snapshots up to it were read, and those whose ids snapshots lists, which
-- numbers do not tell. foreign_folder: where a table names files outside its own location; authority
-- '': anywhere. Purges fill both when they need them, but for the folders that a registered log names. replaced
-- counts how often a table got metadata that it did not make: it was registered, or overwritten.

ALTER TABLE object ADD COLUMN replaced BIGINT NOT NULL DEFAULT 0;

CREATE TABLE survey (
    warehouse_id BIGINT NOT NULL,
    object_id BIGINT NOT NULL,
    replaced BIGINT NOT NULL,
    location TEXT COLLATE "C" NOT NULL,
    metadata_location TEXT COLLATE "C" NOT NULL,
    sequence_number BIGINT NOT NULL,
    snapshots TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (warehouse_id, object_id),
    FOREIGN KEY (warehouse_id, object_id) REFERENCES object (warehouse_id, id) ON DELETE CASCADE
);

CREATE TABLE foreign_folder (
    warehouse_id BIGINT NOT NULL,
    object_id BIGINT NOT NULL,
    authority TEXT COLLATE "C" NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    PRIMARY KEY (warehouse_id, object_id, authority, path),
    FOREIGN KEY (warehouse_id, object_id) REFERENCES object (warehouse_id, id) ON DELETE CASCADE
);

CREATE INDEX foreign_folder_place ON foreign_folder (authority, path);
