-- Every statement this server sends, for PostgreSQL and SQLite alike.
--
-- A block begins with "-- name: NAME (parameters) -> columns"; $1 is the first parameter. A name
-- may end in .pg or .lite where the engines must differ. Other comments are dropped. gen.py writes
-- stmt.gen.h and stmt.gen.c from this file.

-- name: ping () -> one
SELECT 1 AS one

-- --- transactions -------------------------------------------------------------------------------

-- name: begin.pg ()
BEGIN ISOLATION LEVEL READ COMMITTED

-- name: begin.lite ()
BEGIN IMMEDIATE

-- name: commit ()
COMMIT

-- name: rollback ()
ROLLBACK

-- --- migrations ---------------------------------------------------------------------------------

-- The number is arbitrary; the lock ends with the transaction.
-- name: migrate_lock.pg () -> locked
SELECT 1 AS locked FROM pg_advisory_xact_lock(4061193870412)

-- BEGIN IMMEDIATE was the lock.
-- name: migrate_lock.lite () -> locked
SELECT 1 AS locked

-- Asked of the catalog's tables: to_regclass answers from a cache that does not know yet what
-- another server made before it gave the lock away.
-- name: schema_present.pg () -> present
SELECT count(*) AS present FROM pg_catalog.pg_class c
JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
WHERE c.relname = 'schema_version' AND c.relkind IN ('r', 'p')
    AND n.nspname = ANY (current_schemas(FALSE))

-- name: schema_present.lite () -> present
SELECT count(*) AS present FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'

-- name: schema_create ()
CREATE TABLE schema_version (version BIGINT NOT NULL PRIMARY KEY, applied_ms BIGINT NOT NULL)

-- name: schema_get () -> version
SELECT coalesce(max(version), 0) AS version FROM schema_version

-- name: schema_add (version, applied_ms)
INSERT INTO schema_version (version, applied_ms) VALUES ($1, $2)

-- --- warehouses ---------------------------------------------------------------------------------

-- Who makes a row or moves its base looks at all others first, one after the other. The number is
-- arbitrary; the lock ends with the transaction.
-- name: warehouse_lock.pg () -> locked
SELECT 1 AS locked FROM pg_advisory_xact_lock(4061193870413)

-- BEGIN IMMEDIATE was the lock.
-- name: warehouse_lock.lite () -> locked
SELECT 1 AS locked

-- No row: the name belongs to a warehouse with a profile.
-- name: warehouse_ensure (id, name, uuid, base) -> id
INSERT INTO warehouse (id, name, uuid, base) VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO UPDATE SET base = excluded.base WHERE warehouse.profile = ''
RETURNING id

-- A name comes before a uuid, and both before a base, which several may share.
-- name: warehouse_find (named, uuid) -> id, name, uuid, base, profile, active, version
SELECT id, name, uuid, base, profile, active, version FROM warehouse
WHERE name = $1 OR uuid = $2 OR base = $1
ORDER BY name = $1 DESC, uuid = $2 DESC, id LIMIT 1

-- name: warehouse_page (after, limit) -> id, name, uuid, base, profile, active, version
SELECT id, name, uuid, base, profile, active, version FROM warehouse
WHERE name > $1 ORDER BY name LIMIT $2

-- Sent twice it makes one row.
-- name: warehouse_insert (id, name, uuid, base, profile, active, version) -> id
INSERT INTO warehouse (id, name, uuid, base, profile, active, version)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (id) DO UPDATE SET id = excluded.id
RETURNING id

-- name: warehouse_set (id, old, version, name, base, profile, active) -> id
UPDATE warehouse SET version = $3, name = $4, base = $5, profile = $6, active = $7
WHERE id = $1 AND (version = $2 OR version = $3)
RETURNING id

-- name: warehouse_delete (id) -> id
DELETE FROM warehouse
WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM object WHERE warehouse_id = $1)
RETURNING id

-- name: warehouse_objects (id) -> namespaces, marks
SELECT
    (SELECT count(*) FROM namespace WHERE warehouse_id = $1) AS namespaces,
    (SELECT count(*) FROM object WHERE warehouse_id = $1 AND purge_ms IS NOT NULL) AS marks

-- What the deleted warehouse left.
-- name: warehouse_forget_changes (id)
DELETE FROM change WHERE warehouse_id = $1

-- name: warehouse_forget_keys (id)
DELETE FROM idempotency WHERE warehouse_id = $1

-- name: warehouse_forget_leases (id)
DELETE FROM lease WHERE warehouse_id = $1

-- name: warehouse_forget_jobs (id)
DELETE FROM job WHERE warehouse_id = $1

-- name: warehouse_forget_secrets (id)
DELETE FROM secret WHERE warehouse_id = $1

-- --- namespaces ---------------------------------------------------------------------------------

-- name: ns_get (warehouse, path) -> id, version, path, properties
SELECT id, version, path, properties FROM namespace WHERE warehouse_id = $1 AND path = $2

-- name: ns_insert (warehouse, id, parent, name, path, properties) -> id
INSERT INTO namespace (warehouse_id, id, parent_id, name, path, version, properties)
VALUES ($1, $2, $3, $4, $5, 1, $6)
ON CONFLICT DO NOTHING
RETURNING id

-- name: ns_set (warehouse, id, version, properties) -> version
UPDATE namespace SET properties = $4, version = version + 1
WHERE warehouse_id = $1 AND id = $2 AND version = $3
RETURNING version

-- name: ns_content (warehouse, id) -> tables, views, namespaces
SELECT
    (SELECT count(*) FROM object WHERE warehouse_id = $1 AND namespace_id = $2 AND kind = 1)
        AS tables,
    (SELECT count(*) FROM object WHERE warehouse_id = $1 AND namespace_id = $2 AND kind = 2)
        AS views,
    (SELECT count(*) FROM namespace WHERE warehouse_id = $1 AND parent_id = $2) AS namespaces

-- name: ns_delete (warehouse, id) -> id
DELETE FROM namespace WHERE warehouse_id = $1 AND id = $2 RETURNING id

-- name: ns_page (warehouse, parent_path, after, limit) -> name
SELECT name FROM namespace
WHERE warehouse_id = $1
    AND parent_id = (SELECT id FROM namespace WHERE warehouse_id = $1 AND path = $2)
    AND name > $3
ORDER BY name LIMIT $4

-- parent_id in the order: PostgreSQL does not see that IS NULL leaves one value, and would sort.
-- name: ns_page_root (warehouse, after, limit) -> name
SELECT name FROM namespace WHERE warehouse_id = $1 AND parent_id IS NULL AND name > $2
ORDER BY parent_id, name LIMIT $3

-- --- tables and views ---------------------------------------------------------------------------

-- No row: no namespace. Object columns NULL: no object. LATERAL with a limit: one probe of the index, also
-- where the planner has no idea of the tables' sizes.
-- name: object_get.pg (warehouse, path, name) -> namespace, id, kind, uuid, location, metadata_location
SELECT n.id AS namespace, o.id, o.kind, o.uuid, o.location, o.metadata_location
FROM namespace n
LEFT JOIN LATERAL (
    SELECT y.id, y.kind, y.uuid, y.location, y.metadata_location FROM object y
    WHERE y.warehouse_id = $1 AND y.namespace_id = n.id AND y.name = $3 LIMIT 1) o
    ON TRUE
WHERE n.warehouse_id = $1 AND n.path = $2

-- name: object_get.lite (warehouse, path, name) -> namespace, id, kind, uuid, location, metadata_location
SELECT n.id AS namespace, o.id, o.kind, o.uuid, o.location, o.metadata_location
FROM namespace n
LEFT JOIN object o ON o.warehouse_id = n.warehouse_id AND o.namespace_id = n.id AND o.name = $3
WHERE n.warehouse_id = $1 AND n.path = $2

-- What a new object needs to know: its namespace (no row: there is none), and what has its name.
-- name: object_room.pg (warehouse, path, name) -> id, version, path, properties, kind
SELECT n.id, n.version, n.path, n.properties, o.kind
FROM namespace n
LEFT JOIN LATERAL (
    SELECT y.kind FROM object y
    WHERE y.warehouse_id = $1 AND y.namespace_id = n.id AND y.name = $3 LIMIT 1) o
    ON TRUE
WHERE n.warehouse_id = $1 AND n.path = $2

-- name: object_room.lite (warehouse, path, name) -> id, version, path, properties, kind
SELECT n.id, n.version, n.path, n.properties, o.kind
FROM namespace n
LEFT JOIN object o ON o.warehouse_id = n.warehouse_id AND o.namespace_id = n.id AND o.name = $3
WHERE n.warehouse_id = $1 AND n.path = $2

-- name: object_by_id (warehouse, id) -> location, metadata_location
SELECT location, metadata_location FROM object
WHERE warehouse_id = $1 AND id = $2 AND namespace_id IS NOT NULL

-- name: object_insert (warehouse, id, path, name, kind, uuid, location, metadata_location, replaced) -> id
INSERT INTO object
    (warehouse_id, id, namespace_id, name, kind, uuid, location, metadata_location, replaced)
SELECT $1, $2, n.id, $4, $5, $6, $7, $8, $9 FROM namespace n
WHERE n.warehouse_id = $1 AND n.path = $3
ON CONFLICT DO NOTHING
RETURNING id

-- A new object with its place, its change row and, where $21 is there, the answer to the request's
-- key: one statement outside a transaction, for a folder that has a row. The row is locked, so that
-- it is a folder's until the end: nobody can make an object's of it, nor of one above it, to which
-- it is linked. What is at the place or above, whosever base lies between, or below it, is in the
-- way; then, as when somebody else is faster, the statement does nothing or fails, and the
-- transaction finds out why.
-- name: object_insert_one.pg (warehouse, id, namespace, name, kind, uuid, location, metadata_location, authority, place, folder, upwards, low, high, token, relative, digest, principal, request_id, at_ms, key, key_digest, status, answer, lifetime_ms) -> token
WITH room AS (
    SELECT f.path FROM location f
    WHERE f.authority = $9 AND f.path = $11 AND f.object_id IS NULL
        AND (SELECT count(*) FROM unnest(CAST($12 AS TEXT[])) AS w (path)
            CROSS JOIN LATERAL (
                SELECT x.path, x.object_id FROM location x
                WHERE x.authority = $9 AND x.path = w.path LIMIT 1) l
            WHERE l.path = $10 OR l.object_id IS NOT NULL) = 0
        AND (SELECT b.path FROM location b
            WHERE b.authority = $9 AND b.path > $13 AND b.path < $14 LIMIT 1) IS NULL
    FOR KEY SHARE
), made AS (
    INSERT INTO object
        (warehouse_id, id, namespace_id, name, kind, uuid, location, metadata_location)
    SELECT $1, $2, $3, $4, $5, $6, $7, $8 FROM room
    ON CONFLICT DO NOTHING
    RETURNING id
), placed AS (
    INSERT INTO location (authority, path, parent_path, warehouse_id, object_id)
    SELECT $9, $10, $11, $1, id FROM made
    RETURNING object_id
), kept AS (
    INSERT INTO idempotency
        (warehouse_id, principal, request_key, digest, object_id, status, answer, expires_ms)
    SELECT $1, coalesce($18, ''), CAST($21 AS TEXT), $22, object_id, CAST($23 AS BIGINT), $24,
        now_ms() + CAST($25 AS BIGINT)
    FROM placed WHERE CAST($21 AS TEXT) IS NOT NULL
)
INSERT INTO change
    (warehouse_id, token, object_id, kind, metadata_location, digest, principal, request_id, at_ms)
SELECT $1, $15, object_id, 'create', $16, $17, $18, $19, $20 FROM placed
RETURNING token

-- New objects of several callers, each made or not made by itself: no row for one whose name is
-- taken, whose folder has no row or one that is going, or that has something at, above or below its
-- place. `ways`: the places and all folders above them, with their authorities. A token, a key or a
-- place that is taken meanwhile, and a namespace that is gone, make the whole statement fail. LATERAL
-- with a limit, as above.
-- name: object_insert_many.pg (warehouses, ids, namespaces, names, kinds, uuids, locations, metadata_locations, authorities, places, folders, tokens, digests, principals, request_ids, times, keys, key_digests, statuses, answers, lifetimes, way_authorities, ways) -> token
WITH barred AS (
    SELECT l.authority, l.path || '/' AS path
    FROM unnest(CAST($22 AS TEXT[]), CAST($23 AS TEXT[])) AS w (authority, path)
    CROSS JOIN LATERAL (
        SELECT x.authority, x.path, x.object_id FROM location x
        WHERE x.authority = w.authority AND x.path = w.path LIMIT 1) l
    WHERE l.object_id IS NOT NULL OR l.path = ANY (CAST($10 AS TEXT[]))
), room AS (
    SELECT k.*
    FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS TEXT[]),
        CAST($5 AS BIGINT[]), CAST($6 AS TEXT[]), CAST($7 AS TEXT[]), CAST($8 AS TEXT[]),
        CAST($9 AS TEXT[]), CAST($10 AS TEXT[]), CAST($11 AS TEXT[]), CAST($12 AS TEXT[]),
        CAST($13 AS TEXT[]), CAST($14 AS TEXT[]), CAST($15 AS TEXT[]), CAST($16 AS BIGINT[]),
        CAST($17 AS TEXT[]), CAST($18 AS TEXT[]), CAST($19 AS BIGINT[]), CAST($20 AS TEXT[]),
        CAST($21 AS BIGINT[]))
        AS k (warehouse, id, namespace, name, kind, uuid, location, metadata_location, authority,
            place, folder, token, digest, principal, request_id, at_ms, key, key_digest, status,
            answer, lifetime_ms)
    CROSS JOIN LATERAL (
        SELECT f.path FROM location f
        WHERE f.authority = k.authority AND f.path = k.folder AND f.object_id IS NULL
        LIMIT 1 FOR KEY SHARE SKIP LOCKED) f
    WHERE NOT EXISTS (SELECT 1 FROM barred b
            WHERE b.authority = k.authority AND starts_with(k.place || '/', b.path))
        AND (SELECT l.path FROM location l
            WHERE l.authority = k.authority AND l.path > k.place || '/' AND l.path < k.place || '0'
            LIMIT 1) IS NULL
), made AS (
    INSERT INTO object
        (warehouse_id, id, namespace_id, name, kind, uuid, location, metadata_location)
    SELECT warehouse, id, namespace, name, kind, uuid, location, metadata_location FROM room
    ON CONFLICT DO NOTHING
    RETURNING warehouse_id, id
), fresh AS (
    SELECT room.* FROM made JOIN room ON room.warehouse = made.warehouse_id AND room.id = made.id
), placed AS (
    INSERT INTO location (authority, path, parent_path, warehouse_id, object_id)
    SELECT authority, place, folder, warehouse, id FROM fresh
), kept AS (
    INSERT INTO idempotency
        (warehouse_id, principal, request_key, digest, object_id, status, answer, expires_ms)
    SELECT warehouse, coalesce(principal, ''), key, key_digest, id, status, answer,
        now_ms() + lifetime_ms
    FROM fresh WHERE key IS NOT NULL
)
INSERT INTO change
    (warehouse_id, token, object_id, kind, metadata_location, digest, principal, request_id, at_ms)
SELECT warehouse, token, id, 'create',
    CASE WHEN substr(metadata_location, 1, length(location) + 1) = location || '/'
        THEN substr(metadata_location, length(location) + 1) ELSE metadata_location END,
    digest, principal, request_id, at_ms
FROM fresh
RETURNING token

-- Why object_insert made no row.
-- name: object_why (warehouse, path, name, uuid) -> namespace, kind, twin
SELECT
    (SELECT id FROM namespace WHERE warehouse_id = $1 AND path = $2) AS namespace,
    (SELECT kind FROM object
        WHERE warehouse_id = $1 AND name = $3
            AND namespace_id = (SELECT id FROM namespace WHERE warehouse_id = $1 AND path = $2)
        ) AS kind,
    (SELECT id FROM object WHERE warehouse_id = $1 AND uuid = $4) AS twin

-- Pointer and change row in one statement, outside a transaction. The pointer is compared first, so
-- a repetition of a swap that is still under way waits for it and then finds no row.
-- name: object_swap_one.pg (warehouse, id, old, new, token, digest, principal, request_id, at_ms) -> token
WITH moved AS (
    UPDATE object SET metadata_location = $4
    WHERE warehouse_id = $1 AND id = $2 AND metadata_location = $3 AND namespace_id IS NOT NULL
    RETURNING id, location
)
INSERT INTO change
    (warehouse_id, token, object_id, kind, metadata_location, digest, principal, request_id, at_ms)
SELECT $1, $5, id, 'swap',
    CASE WHEN substr($4, 1, length(location) + 1) = location || '/'
        THEN substr($4, length(location) + 1) ELSE $4 END,
    $6, $7, $8, $9
FROM moved
RETURNING token

-- The same with the answer to a request that carried a key. A row of that key, expired or not, makes
-- the whole statement fail.
-- name: object_swap_keyed.pg (warehouse, id, old, new, token, digest, principal, request_id, at_ms, key, status, lifetime_ms) -> token
WITH moved AS (
    UPDATE object SET metadata_location = $4
    WHERE warehouse_id = $1 AND id = $2 AND metadata_location = $3 AND namespace_id IS NOT NULL
    RETURNING id, location
), kept AS (
    INSERT INTO idempotency
        (warehouse_id, principal, request_key, digest, object_id, status, answer, expires_ms)
    SELECT $1, coalesce($7, ''), $10, $6, id, CAST($11 AS BIGINT), $4,
        now_ms() + CAST($12 AS BIGINT)
    FROM moved
)
INSERT INTO change
    (warehouse_id, token, object_id, kind, metadata_location, digest, principal, request_id, at_ms)
SELECT $1, $5, id, 'swap',
    CASE WHEN substr($4, 1, length(location) + 1) = location || '/'
        THEN substr($4, length(location) + 1) ELSE $4 END,
    $6, $7, $8, $9
FROM moved
RETURNING token

-- Rows that one transaction is to change, held in the order in which they are named. LATERAL with a
-- limit: one probe of the index for each, and no other order.
-- name: object_hold.pg (warehouse, ids) -> id, metadata_location
SELECT o.id, o.metadata_location
FROM unnest(CAST($2 AS BIGINT[])) AS k (id)
CROSS JOIN LATERAL (
    SELECT y.id, y.metadata_location FROM object y
    WHERE y.warehouse_id = $1 AND y.id = k.id AND y.namespace_id IS NOT NULL
    LIMIT 1 FOR NO KEY UPDATE) o

-- Swaps of many objects, each made or not made by itself: no row for one whose pointer moved, nor for
-- one whose row somebody else holds, so that nobody waits for another's table. A token or a key that
-- is taken makes the whole statement fail. LATERAL with a limit, as above; the rows that are held are
-- then changed where they lie, since to look for them again may read all there are.
-- name: object_swap_many.pg (warehouses, ids, olds, news, tokens, digests, principals, request_ids, times, keys, statuses, lifetimes) -> token
WITH held AS (
    SELECT k.*, o.location, o.row
    FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS TEXT[]), CAST($4 AS TEXT[]),
        CAST($5 AS TEXT[]), CAST($6 AS TEXT[]), CAST($7 AS TEXT[]), CAST($8 AS TEXT[]),
        CAST($9 AS BIGINT[]), CAST($10 AS TEXT[]), CAST($11 AS BIGINT[]), CAST($12 AS BIGINT[]))
        AS k (warehouse, id, old, new, token, digest, principal, request_id, at_ms, key, status,
            lifetime_ms)
    CROSS JOIN LATERAL (
        SELECT y.location, y.ctid AS row FROM object y
        WHERE y.warehouse_id = k.warehouse AND y.id = k.id AND y.metadata_location = k.old
            AND y.namespace_id IS NOT NULL
        LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) o
), moved AS (
    UPDATE object SET metadata_location = held.new FROM held
    WHERE object.ctid = held.row
    RETURNING held.*
), kept AS (
    INSERT INTO idempotency
        (warehouse_id, principal, request_key, digest, object_id, status, answer, expires_ms)
    SELECT warehouse, coalesce(principal, ''), key, digest, id, status, new, now_ms() + lifetime_ms
    FROM moved WHERE key IS NOT NULL
)
INSERT INTO change
    (warehouse_id, token, object_id, kind, metadata_location, digest, principal, request_id, at_ms)
SELECT warehouse, token, id, 'swap',
    CASE WHEN substr(new, 1, length(location) + 1) = location || '/'
        THEN substr(new, length(location) + 1) ELSE new END,
    digest, principal, request_id, at_ms
FROM moved
RETURNING token

-- name: object_swap (warehouse, id, old, new, location) -> id
UPDATE object SET metadata_location = $4, location = $5
WHERE warehouse_id = $1 AND id = $2 AND metadata_location = $3 AND namespace_id IS NOT NULL
RETURNING id

-- name: object_replace (warehouse, id, namespace, name, uuid, location, metadata_location) -> id
UPDATE object
SET uuid = $5, location = $6, metadata_location = $7, replaced = replaced + 1
WHERE warehouse_id = $1 AND id = $2 AND namespace_id = $3 AND name = $4
RETURNING id

-- name: object_rename (warehouse, id, namespace, name, to_namespace, to_name) -> id
UPDATE object SET namespace_id = $5, name = $6
WHERE warehouse_id = $1 AND id = $2 AND namespace_id = $3 AND name = $4
RETURNING id

-- name: object_delete (warehouse, id, namespace, name) -> metadata_location, location
DELETE FROM object
WHERE warehouse_id = $1 AND id = $2 AND namespace_id = $3 AND name = $4
RETURNING metadata_location, location

-- name: object_purge (warehouse, id, namespace, name, at_ms) -> metadata_location, location
UPDATE object SET namespace_id = NULL, purge_ms = $5
WHERE warehouse_id = $1 AND id = $2 AND namespace_id = $3 AND name = $4
RETURNING metadata_location, location

-- name: object_page (warehouse, path, kind, after, limit) -> name
SELECT name FROM object
WHERE warehouse_id = $1
    AND namespace_id = (SELECT id FROM namespace WHERE warehouse_id = $1 AND path = $2)
    AND kind = $3 AND name > $4
ORDER BY name LIMIT $5

-- --- locations ----------------------------------------------------------------------------------

-- name: location_insert (authority, path, parent, warehouse, object) -> path
INSERT INTO location (authority, path, parent_path, warehouse_id, object_id)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (authority, path) DO NOTHING
RETURNING path

-- The lowest folder above the path that has a row; those above it have theirs.
-- name: location_above (authority, path) -> path
WITH RECURSIVE up (path) AS (
    SELECT rtrim(rtrim(CAST($2 AS TEXT), replace(CAST($2 AS TEXT), '/', '')), '/')
    UNION ALL
    SELECT rtrim(rtrim(path, replace(path, '/', '')), '/') FROM up WHERE path <> ''
)
SELECT path FROM up
WHERE (SELECT l.path FROM location l WHERE l.authority = $1 AND l.path = up.path) IS NOT NULL
ORDER BY length(path) DESC LIMIT 1

-- Of an object above the path, whoever's base lies between (its rows are not linked then), or of
-- anything below it, that is between low and high. The folders above are cut off one by one; the
-- scalar subquery makes each a probe of the index, where a join would read the whole bucket's rows.
-- name: location_clash (authority, path, low, high) -> path
WITH RECURSIVE up (path) AS (
    SELECT rtrim(rtrim(CAST($2 AS TEXT), replace(CAST($2 AS TEXT), '/', '')), '/')
    UNION ALL
    SELECT rtrim(rtrim(path, replace(path, '/', '')), '/') FROM up WHERE path <> ''
)
SELECT path FROM up
WHERE path <> $2
    AND (SELECT l.object_id FROM location l WHERE l.authority = $1 AND l.path = up.path) IS NOT NULL
UNION ALL
SELECT b.path FROM location b WHERE b.authority = $1 AND b.path > $3 AND b.path < $4
LIMIT 1

-- name: location_free (warehouse, object) -> authority, parent
DELETE FROM location WHERE warehouse_id = $1 AND object_id = $2
RETURNING authority, parent_path AS parent

-- Of two that leave a folder at the same time the second one waits here, and then sees that it is
-- the last.
-- name: location_hold.pg (authority, path) -> one
SELECT 1 AS one FROM location WHERE authority = $1 AND path = $2 FOR NO KEY UPDATE

-- name: location_hold.lite (authority, path) -> one
SELECT 1 AS one FROM location WHERE authority = $1 AND path = $2

-- A folder that nothing lies in any more. With a limit: PostgreSQL would gather all that lies in it,
-- as long as it has not counted the rows.
-- name: location_prune (authority, path) -> parent
DELETE FROM location
WHERE authority = $1 AND path = $2 AND object_id IS NULL
    AND (SELECT c.path FROM location c WHERE c.authority = $1 AND c.parent_path = $2 LIMIT 1) IS NULL
RETURNING parent_path AS parent

-- --- changes ------------------------------------------------------------------------------------

-- No row: the token is there, so the change it stands for was made. Waits for a transaction that
-- has written the token and not ended.
-- name: change_insert (warehouse, token, object, kind, metadata_location, digest, principal, request_id, at_ms) -> token
INSERT INTO change
    (warehouse_id, token, object_id, kind, metadata_location, digest, principal, request_id, at_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT (warehouse_id, token) DO NOTHING
RETURNING token

-- name: change_get (warehouse, token) -> kind
SELECT kind FROM change WHERE warehouse_id = $1 AND token = $2

-- The object may have been renamed since. "+ 0": or the index by time is walked through in its order.
-- name: change_by_digest.pg (warehouse, digest) -> metadata_location, location, current
SELECT c.metadata_location, o.location, o.metadata_location AS current
FROM change c
CROSS JOIN LATERAL (
    SELECT y.location, y.metadata_location FROM object y
    WHERE y.warehouse_id = $1 AND y.id = c.object_id AND y.purge_ms IS NULL LIMIT 1) o
WHERE c.warehouse_id = $1 AND c.digest = $2
ORDER BY c.at_ms + 0 DESC LIMIT 1

-- name: change_by_digest.lite (warehouse, digest) -> metadata_location, location, current
SELECT c.metadata_location, o.location, o.metadata_location AS current
FROM change c JOIN object o ON o.warehouse_id = c.warehouse_id AND o.id = c.object_id
WHERE c.warehouse_id = $1 AND c.digest = $2 AND o.purge_ms IS NULL
ORDER BY c.at_ms DESC LIMIT 1

-- What followed the location that the object leaves stays where it is.
-- name: change_detach (warehouse, object, location)
UPDATE change SET metadata_location = $3 || metadata_location
WHERE warehouse_id = $1 AND object_id = $2 AND digest IS NOT NULL AND metadata_location LIKE '/%'

-- The oldest `limit` of those that are older than keep_ms, and what is as old as the last of them.
-- name: change_prune (warehouse, keep_ms, limit) -> token
DELETE FROM change
WHERE warehouse_id = $1 AND at_ms <= (
    SELECT max(at_ms) FROM (
        SELECT at_ms FROM change WHERE warehouse_id = $1 AND at_ms < now_ms() - CAST($2 AS BIGINT)
        ORDER BY at_ms LIMIT $3) oldest)
RETURNING token

-- --- answers to requests with a key, leases -------------------------------------------------------
-- now_ms() is the database's time: gen.py writes it out for PostgreSQL, lite.c makes it for SQLite.

-- name: idem_get (warehouse, principal, key) -> digest, object, status, answer
SELECT digest, object_id AS object, status, answer FROM idempotency
WHERE warehouse_id = $1 AND principal = $2 AND request_key = $3 AND expires_ms > now_ms()

-- No row: the key was used and has not expired. Waits for a transaction that has used it and not
-- ended.
-- name: idem_put (warehouse, principal, key, digest, object, status, answer, lifetime_ms) -> key
INSERT INTO idempotency
    (warehouse_id, principal, request_key, digest, object_id, status, answer, expires_ms)
VALUES ($1, $2, $3, $4, $5, $6, $7, now_ms() + CAST($8 AS BIGINT))
ON CONFLICT (warehouse_id, principal, request_key) DO UPDATE SET
    digest = excluded.digest, object_id = excluded.object_id, status = excluded.status,
    answer = excluded.answer, expires_ms = excluded.expires_ms
WHERE idempotency.expires_ms <= now_ms()
RETURNING request_key AS key

-- A key that somebody uses anew meanwhile stays.
-- name: idem_prune (warehouse, limit) -> key
DELETE FROM idempotency
WHERE warehouse_id = $1 AND expires_ms <= (
    SELECT max(expires_ms) FROM (
        SELECT expires_ms FROM idempotency WHERE warehouse_id = $1 AND expires_ms <= now_ms()
        ORDER BY expires_ms LIMIT $2) oldest)
RETURNING request_key AS key

-- No row: somebody else holds it.
-- name: lease_take (warehouse, name, holder, for_ms) -> until
INSERT INTO lease (warehouse_id, name, holder, until_ms)
VALUES ($1, $2, $3, now_ms() + CAST($4 AS BIGINT))
ON CONFLICT (warehouse_id, name) DO UPDATE SET
    holder = excluded.holder, until_ms = excluded.until_ms
WHERE lease.holder = excluded.holder OR lease.until_ms <= now_ms()
RETURNING until_ms AS until

-- name: lease_give (warehouse, name, holder) -> name
DELETE FROM lease WHERE warehouse_id = $1 AND name = $2 AND holder = $3 RETURNING name

-- The outer condition is for one that is taken anew meanwhile.
-- name: lease_prune (warehouse, limit) -> name
DELETE FROM lease
WHERE warehouse_id = $1 AND until_ms <= now_ms() AND name IN (
    SELECT name FROM lease WHERE warehouse_id = $1 AND until_ms <= now_ms() LIMIT $2)
RETURNING name

-- --- purges -------------------------------------------------------------------------------------

-- name: mark_page (warehouse, after_ms, after, limit) -> id, location, metadata_location, at
SELECT id, location, metadata_location, purge_ms AS at FROM object
WHERE warehouse_id = $1 AND purge_ms IS NOT NULL AND (purge_ms, id) > ($2, $3)
ORDER BY purge_ms, id LIMIT $4

-- name: mark_delete (warehouse, id) -> id
DELETE FROM object WHERE warehouse_id = $1 AND id = $2 AND purge_ms IS NOT NULL RETURNING id

-- Of an object at the path or above it, or of one below, between low and high.
-- name: location_live (authority, path, low, high) -> path
WITH RECURSIVE up (path) AS (
    SELECT CAST($2 AS TEXT)
    UNION ALL
    SELECT rtrim(rtrim(path, replace(path, '/', '')), '/') FROM up WHERE path <> ''
)
SELECT path FROM up
WHERE (SELECT l.object_id FROM location l WHERE l.authority = $1 AND l.path = up.path) IS NOT NULL
UNION ALL
SELECT b.path FROM location b
WHERE b.authority = $1 AND b.path > $3 AND b.path < $4 AND b.object_id IS NOT NULL
LIMIT 1

-- A scan: only purges ask.
-- name: object_beneath (pattern, after_warehouse, after, limit) -> warehouse, id, metadata_location
SELECT warehouse_id AS warehouse, id, metadata_location FROM object
WHERE (warehouse_id, id) > ($2, $3) AND namespace_id IS NOT NULL
    AND metadata_location LIKE $1 ESCAPE '\'
ORDER BY warehouse_id, id LIMIT $4

-- --- what tables name -----------------------------------------------------------------------------

-- Live tables of all warehouses whose metadata has not been read as it is. mark_replaced NULL: it
-- has never been read. A scan: only purges ask.
-- name: survey_page (after_warehouse, after, limit) -> warehouse, uuid, base, id, location, metadata_location, replaced, mark_replaced, mark_location, sequence_number, snapshots
SELECT o.warehouse_id AS warehouse, w.uuid, w.base, o.id, o.location, o.metadata_location,
    o.replaced, s.replaced AS mark_replaced, s.location AS mark_location, s.sequence_number,
    s.snapshots
FROM object o
JOIN warehouse w ON w.id = o.warehouse_id
LEFT JOIN survey s ON s.warehouse_id = o.warehouse_id AND s.object_id = o.id
WHERE (o.warehouse_id, o.id) > ($1, $2) AND o.namespace_id IS NOT NULL AND o.kind = 1
    AND (s.object_id IS NULL OR s.metadata_location <> o.metadata_location
        OR s.location <> o.location OR s.replaced <> o.replaced)
ORDER BY o.warehouse_id, o.id LIMIT $3

-- Nothing happens where the table is gone.
-- name: survey_put (warehouse, object, replaced, location, metadata_location, sequence_number, snapshots)
INSERT INTO survey (warehouse_id, object_id, replaced, location, metadata_location,
    sequence_number, snapshots)
SELECT o.warehouse_id, o.id, CAST($3 AS BIGINT), CAST($4 AS TEXT), CAST($5 AS TEXT),
    CAST($6 AS BIGINT), CAST($7 AS TEXT)
FROM object o WHERE o.warehouse_id = $1 AND o.id = $2
ON CONFLICT (warehouse_id, object_id) DO UPDATE SET
    replaced = excluded.replaced, location = excluded.location,
    metadata_location = excluded.metadata_location,
    sequence_number = excluded.sequence_number, snapshots = excluded.snapshots

-- name: foreign_add (warehouse, object, authority, path)
INSERT INTO foreign_folder (warehouse_id, object_id, authority, path)
SELECT o.warehouse_id, o.id, CAST($3 AS TEXT), CAST($4 AS TEXT)
FROM object o WHERE o.warehouse_id = $1 AND o.id = $2
ON CONFLICT DO NOTHING

-- name: foreign_remove (warehouse, object, authority, path)
DELETE FROM foreign_folder
WHERE warehouse_id = $1 AND object_id = $2 AND authority = $3 AND path = $4

-- name: foreign_list (warehouse, object) -> authority, path
SELECT authority, path FROM foreign_folder WHERE warehouse_id = $1 AND object_id = $2

-- Live tables that name files in the folder, above it, or below it, between low and high.
-- name: foreign_near (authority, path, low, high, after_warehouse, after, limit) -> warehouse, uuid, base, id, location, metadata_location
WITH RECURSIVE up (path) AS (
    SELECT CAST($2 AS TEXT)
    UNION ALL
    SELECT rtrim(rtrim(path, replace(path, '/', '')), '/') FROM up WHERE path <> ''
), near (warehouse_id, object_id) AS (
    SELECT a.warehouse_id, a.object_id FROM foreign_folder a
    WHERE a.authority = $1 AND a.path IN (SELECT up.path FROM up)
    UNION
    SELECT b.warehouse_id, b.object_id FROM foreign_folder b
    WHERE b.authority = $1 AND b.path > $3 AND b.path < $4
    UNION
    SELECT c.warehouse_id, c.object_id FROM foreign_folder c WHERE c.authority = ''
)
SELECT o.warehouse_id AS warehouse, w.uuid, w.base, o.id, o.location, o.metadata_location
FROM near n
JOIN object o ON o.warehouse_id = n.warehouse_id AND o.id = n.object_id
JOIN warehouse w ON w.id = o.warehouse_id
WHERE o.namespace_id IS NOT NULL AND (o.warehouse_id, o.id) > ($5, $6)
ORDER BY o.warehouse_id, o.id LIMIT $7

-- --- secrets ------------------------------------------------------------------------------------

-- name: secret_get (warehouse, name) -> sealed
SELECT sealed FROM secret WHERE warehouse_id = $1 AND name = $2

-- name: secret_put (warehouse, name, sealed)
INSERT INTO secret (warehouse_id, name, sealed) VALUES ($1, $2, $3)
ON CONFLICT (warehouse_id, name) DO UPDATE SET sealed = excluded.sealed

-- name: secret_swap (warehouse, name, old, new) -> name
UPDATE secret SET sealed = $4 WHERE warehouse_id = $1 AND name = $2 AND sealed = $3 RETURNING name

-- name: secret_delete (warehouse, name) -> name
DELETE FROM secret WHERE warehouse_id = $1 AND name = $2 RETURNING name

-- name: secret_page (warehouse, name, limit) -> warehouse, warehouse_name, name, sealed
SELECT s.warehouse_id AS warehouse, coalesce(w.name, '') AS warehouse_name, s.name, s.sealed
FROM secret s LEFT JOIN warehouse w ON w.id = s.warehouse_id
WHERE (s.warehouse_id, s.name) > ($1, $2)
ORDER BY s.warehouse_id, s.name LIMIT $3

-- --- files that nothing names -------------------------------------------------------------------

-- The last 48 characters of pointers, live or marked, of any warehouse: a file's name, however the
-- rest is spelled. A scan: only the deletion of files asks.
-- name: object_tails (tail1, tail2, tail3, tail4, tail5, tail6, tail7, tail8, tail9, tail10, tail11, tail12, tail13, tail14, tail15, tail16) -> tail
SELECT substr('                                                ' || metadata_location, length(metadata_location) + 1) AS tail FROM object
WHERE substr('                                                ' || metadata_location, length(metadata_location) + 1) IN
    ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)

-- name: change_kinds.pg (warehouse, token1, token2, token3, token4, token5, token6, token7, token8, token9, token10, token11, token12, token13, token14, token15, token16) -> token, kind, age, object
SELECT c.token, c.kind, now_ms() - c.at_ms AS age, c.object_id AS object
FROM (VALUES (CAST($2 AS TEXT)), ($3), ($4), ($5), ($6), ($7), ($8), ($9), ($10), ($11), ($12), ($13),
    ($14), ($15), ($16), ($17)) AS k (token)
CROSS JOIN LATERAL (
    SELECT x.token, x.kind, x.at_ms, x.object_id FROM change x
    WHERE x.warehouse_id = $1 AND x.token = k.token LIMIT 1) c

-- name: change_kinds.lite (warehouse, token1, token2, token3, token4, token5, token6, token7, token8, token9, token10, token11, token12, token13, token14, token15, token16) -> token, kind, age, object
SELECT token, kind, now_ms() - at_ms AS age, object_id AS object FROM change
WHERE warehouse_id = $1 AND token IN
    ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)

-- Every change since then has its row.
-- name: change_oldest (warehouse) -> at
SELECT min(at_ms) AS at FROM change WHERE warehouse_id = $1

-- From now on the change that would have had this token cannot be made. No row: it was made.
-- name: change_forgo (warehouse, token, object) -> token
INSERT INTO change (warehouse_id, token, object_id, kind, at_ms)
VALUES ($1, $2, $3, 'forgone', now_ms())
ON CONFLICT (warehouse_id, token) DO NOTHING
RETURNING token

-- name: object_after (warehouse, after, limit) -> id, location, metadata_location
SELECT id, location, metadata_location FROM object
WHERE warehouse_id = $1 AND id > $2 AND namespace_id IS NOT NULL
ORDER BY id LIMIT $3

-- name: object_origin (warehouse, id) -> metadata_location, replaced
SELECT metadata_location, replaced FROM object
WHERE warehouse_id = $1 AND id = $2 AND namespace_id IS NOT NULL

-- name: object_of_uuid (warehouse, uuid) -> id
SELECT id FROM object WHERE warehouse_id = $1 AND uuid = $2

-- name: ns_after (warehouse, after, limit) -> path, properties
SELECT path, properties FROM namespace WHERE warehouse_id = $1 AND path > $2
ORDER BY path LIMIT $3

-- due: milliseconds until the next round. position: where the one under way is; NULL: none is.
-- name: job_get (warehouse, name) -> due, position, now
SELECT due_ms - now_ms() AS due, position, now_ms() AS now FROM job
WHERE warehouse_id = $1 AND name = $2

-- name: job_plan (warehouse, name, in_ms, position) -> due
INSERT INTO job (warehouse_id, name, due_ms, position)
VALUES ($1, $2, now_ms() + CAST($3 AS BIGINT), $4)
ON CONFLICT (warehouse_id, name) DO UPDATE SET
    due_ms = excluded.due_ms, position = excluded.position
RETURNING due_ms AS due

-- name: job_note (warehouse, name, position) -> due
UPDATE job SET position = $3 WHERE warehouse_id = $1 AND name = $2 RETURNING due_ms AS due

-- --- the fast lane ------------------------------------------------------------------------------

-- All keys of a turn. A key without a name asks for the namespace, and so does one whose name is
-- free: something may be made there. LATERAL with a limit: always one index probe for each key,
-- whatever the planner thinks of the tables' sizes.
-- name: lookup.pg (warehouses, paths, names) -> i, namespace, version, path, properties, id, kind, uuid, location, metadata_location
SELECT k.i, n.id AS namespace, n.version, n.path,
    CASE WHEN o.id IS NULL THEN n.properties END AS properties,
    o.id, o.kind, o.uuid, o.location, o.metadata_location
FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS TEXT[]), CAST($3 AS TEXT[]))
    WITH ORDINALITY AS k (warehouse_id, path, name, i)
CROSS JOIN LATERAL (
    SELECT x.id, x.version, x.path, x.properties FROM namespace x
    WHERE x.warehouse_id = k.warehouse_id AND x.path = k.path LIMIT 1) n
LEFT JOIN LATERAL (
    SELECT y.id, y.kind, y.uuid, y.location, y.metadata_location FROM object y
    WHERE y.warehouse_id = k.warehouse_id AND y.namespace_id = n.id AND y.name = k.name LIMIT 1) o
    ON TRUE
