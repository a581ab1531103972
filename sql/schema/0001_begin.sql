-- Everything the catalog keeps: pointers, names, who changed what, and where tables lie.
-- One text for PostgreSQL and SQLite: TEXT and BIGINT only, times in milliseconds since 1970,
-- ids drawn by the server. warehouse_id leads every key but those of location, so that rows can be
-- distributed by warehouse. Collation C is byte order on both.

CREATE TABLE warehouse (
    id BIGINT NOT NULL PRIMARY KEY,
    name TEXT COLLATE "C" NOT NULL UNIQUE,
    uuid TEXT COLLATE "C" NOT NULL UNIQUE,
    base TEXT NOT NULL
);

-- path: the levels joined by 0x1F. parent_id: NULL below the root. version counts the changes of
-- the properties, a JSON object.
CREATE TABLE namespace (
    warehouse_id BIGINT NOT NULL REFERENCES warehouse (id) ON DELETE RESTRICT,
    id BIGINT NOT NULL,
    parent_id BIGINT,
    name TEXT COLLATE "C" NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    version BIGINT NOT NULL,
    properties TEXT NOT NULL,
    PRIMARY KEY (warehouse_id, id),
    UNIQUE (warehouse_id, path),
    FOREIGN KEY (warehouse_id, parent_id) REFERENCES namespace (warehouse_id, id) ON DELETE RESTRICT
);

CREATE INDEX namespace_child ON namespace (warehouse_id, parent_id, name);

-- Tables (kind 1) and views (kind 2): one name space. A row with purge_ms is no object any more but
-- the mark of files to delete; it has left its namespace.
CREATE TABLE object (
    warehouse_id BIGINT NOT NULL,
    id BIGINT NOT NULL,
    namespace_id BIGINT,
    name TEXT COLLATE "C" NOT NULL,
    kind BIGINT NOT NULL,
    uuid TEXT COLLATE "C" NOT NULL,
    location TEXT COLLATE "C" NOT NULL,
    metadata_location TEXT COLLATE "C" NOT NULL,
    purge_ms BIGINT,
    PRIMARY KEY (warehouse_id, id),
    UNIQUE (warehouse_id, namespace_id, name),
    FOREIGN KEY (warehouse_id, namespace_id) REFERENCES namespace (warehouse_id, id)
        ON DELETE RESTRICT
);

CREATE INDEX object_kind ON object (warehouse_id, namespace_id, kind, name);

CREATE UNIQUE INDEX object_uuid ON object (warehouse_id, uuid) WHERE purge_ms IS NULL;

CREATE INDEX object_purge ON object (warehouse_id, purge_ms) WHERE purge_ms IS NOT NULL;

-- One row for every change of a pointer or a name, written with it. object_id: of the object or the
-- namespace. metadata_location: what follows the table's location, or all of it where it lies
-- elsewhere.
CREATE TABLE change (
    warehouse_id BIGINT NOT NULL,
    token TEXT COLLATE "C" NOT NULL,
    object_id BIGINT NOT NULL,
    kind TEXT COLLATE "C" NOT NULL,
    metadata_location TEXT COLLATE "C",
    digest TEXT COLLATE "C",
    principal TEXT,
    request_id TEXT,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (warehouse_id, token)
);

CREATE INDEX change_digest ON change (warehouse_id, object_id, digest, at_ms)
    WHERE digest IS NOT NULL;

CREATE INDEX change_time ON change (warehouse_id, at_ms);

-- Where live objects lie, and the folders between them and their warehouse's base, across all
-- warehouses. The foreign key decides between a table and another that would lie in it.
CREATE TABLE location (
    authority TEXT COLLATE "C" NOT NULL,
    path TEXT COLLATE "C" NOT NULL,
    parent_path TEXT COLLATE "C",
    warehouse_id BIGINT NOT NULL,
    object_id BIGINT,
    PRIMARY KEY (authority, path),
    FOREIGN KEY (authority, parent_path) REFERENCES location (authority, path) ON DELETE RESTRICT
);

CREATE INDEX location_child ON location (authority, parent_path);

CREATE UNIQUE INDEX location_object ON location (warehouse_id, object_id)
    WHERE object_id IS NOT NULL;

-- Answers to requests that carried a key, written in the transaction of their effect. digest: of the
-- request. answer: the metadata location that the answer showed, or a document as it was sent.
CREATE TABLE idempotency (
    warehouse_id BIGINT NOT NULL,
    principal TEXT COLLATE "C" NOT NULL,
    request_key TEXT COLLATE "C" NOT NULL,
    digest TEXT COLLATE "C" NOT NULL,
    object_id BIGINT,
    status BIGINT NOT NULL,
    answer TEXT,
    expires_ms BIGINT NOT NULL,
    PRIMARY KEY (warehouse_id, principal, request_key)
);

CREATE INDEX idempotency_expiry ON idempotency (warehouse_id, expires_ms);

-- Who may do a background job until when, by the database's clock.
CREATE TABLE lease (
    warehouse_id BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    holder TEXT COLLATE "C" NOT NULL,
    until_ms BIGINT NOT NULL,
    PRIMARY KEY (warehouse_id, name)
);

-- Sealed by the server; the key is not in the database.
CREATE TABLE secret (
    warehouse_id BIGINT NOT NULL,
    name TEXT COLLATE "C" NOT NULL,
    sealed TEXT NOT NULL,
    PRIMARY KEY (warehouse_id, name)
);
