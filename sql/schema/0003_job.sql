-- Background work that comes round: when the next round is due, by the database's clock, and how far
-- the one under way is, whoever does it; NULL: none is under way.

CREATE TABLE job (
    warehouse_id BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    due_ms BIGINT NOT NULL,
    position TEXT COLLATE "C",
    PRIMARY KEY (warehouse_id, name)
);
