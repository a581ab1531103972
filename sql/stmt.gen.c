/* Written by gen.py from statements.sql and schema/. */
#include "stmt.gen.h"

static const char *const ping_columns[] = {"one"};
static const char *const migrate_lock_columns[] = {"locked"};
static const char *const schema_present_columns[] = {"present"};
static const char *const schema_get_columns[] = {"version"};
static const char *const warehouse_lock_columns[] = {"locked"};
static const char *const warehouse_ensure_columns[] = {"id"};
static const char *const warehouse_find_columns[] = {"id", "name", "uuid", "base", "profile", "active", "version"};
static const char *const warehouse_page_columns[] = {"id", "name", "uuid", "base", "profile", "active", "version"};
static const char *const warehouse_insert_columns[] = {"id"};
static const char *const warehouse_set_columns[] = {"id"};
static const char *const warehouse_delete_columns[] = {"id"};
static const char *const warehouse_objects_columns[] = {"namespaces", "marks"};
static const char *const ns_get_columns[] = {"id", "version", "path", "properties"};
static const char *const ns_insert_columns[] = {"id"};
static const char *const ns_set_columns[] = {"version"};
static const char *const ns_content_columns[] = {"tables", "views", "namespaces"};
static const char *const ns_delete_columns[] = {"id"};
static const char *const ns_page_columns[] = {"name"};
static const char *const ns_page_root_columns[] = {"name"};
static const char *const object_get_columns[] = {"namespace", "id", "kind", "uuid", "location", "metadata_location"};
static const char *const object_room_columns[] = {"id", "version", "path", "properties", "kind"};
static const char *const object_by_id_columns[] = {"location", "metadata_location"};
static const char *const object_insert_columns[] = {"id"};
static const char *const object_insert_one_columns[] = {"token"};
static const char *const object_insert_many_columns[] = {"token"};
static const char *const object_why_columns[] = {"namespace", "kind", "twin"};
static const char *const object_swap_one_columns[] = {"token"};
static const char *const object_swap_keyed_columns[] = {"token"};
static const char *const object_hold_columns[] = {"id", "metadata_location"};
static const char *const object_swap_many_columns[] = {"token"};
static const char *const object_swap_columns[] = {"id"};
static const char *const object_replace_columns[] = {"id"};
static const char *const object_rename_columns[] = {"id"};
static const char *const object_delete_columns[] = {"metadata_location", "location"};
static const char *const object_purge_columns[] = {"metadata_location", "location"};
static const char *const object_page_columns[] = {"name"};
static const char *const location_insert_columns[] = {"path"};
static const char *const location_above_columns[] = {"path"};
static const char *const location_clash_columns[] = {"path"};
static const char *const location_free_columns[] = {"authority", "parent"};
static const char *const location_hold_columns[] = {"one"};
static const char *const location_prune_columns[] = {"parent"};
static const char *const change_insert_columns[] = {"token"};
static const char *const change_get_columns[] = {"kind"};
static const char *const change_by_digest_columns[] = {"metadata_location", "location", "current"};
static const char *const change_prune_columns[] = {"token"};
static const char *const idem_get_columns[] = {"digest", "object", "status", "answer"};
static const char *const idem_put_columns[] = {"key"};
static const char *const idem_prune_columns[] = {"key"};
static const char *const lease_take_columns[] = {"until"};
static const char *const lease_give_columns[] = {"name"};
static const char *const lease_prune_columns[] = {"name"};
static const char *const mark_page_columns[] = {"id", "location", "metadata_location", "at"};
static const char *const mark_delete_columns[] = {"id"};
static const char *const location_live_columns[] = {"path"};
static const char *const object_beneath_columns[] = {"warehouse", "id", "metadata_location"};
static const char *const survey_page_columns[] = {"warehouse", "uuid", "base", "id", "location", "metadata_location", "replaced", "mark_replaced", "mark_location", "sequence_number", "snapshots"};
static const char *const foreign_list_columns[] = {"authority", "path"};
static const char *const foreign_near_columns[] = {"warehouse", "uuid", "base", "id", "location", "metadata_location"};
static const char *const secret_get_columns[] = {"sealed"};
static const char *const secret_swap_columns[] = {"name"};
static const char *const secret_delete_columns[] = {"name"};
static const char *const secret_page_columns[] = {"warehouse", "warehouse_name", "name", "sealed"};
static const char *const object_tails_columns[] = {"tail"};
static const char *const change_kinds_columns[] = {"token", "kind", "age", "object"};
static const char *const change_oldest_columns[] = {"at"};
static const char *const change_forgo_columns[] = {"token"};
static const char *const object_after_columns[] = {"id", "location", "metadata_location"};
static const char *const object_origin_columns[] = {"metadata_location", "replaced"};
static const char *const object_of_uuid_columns[] = {"id"};
static const char *const ns_after_columns[] = {"path", "properties"};
static const char *const job_get_columns[] = {"due", "position", "now"};
static const char *const job_plan_columns[] = {"due"};
static const char *const job_note_columns[] = {"due"};
static const char *const lookup_columns[] = {"i", "namespace", "version", "path", "properties", "id", "kind", "uuid", "location", "metadata_location"};

const struct stmt_info stmt_info[STMT_COUNT] = {
    [STMT_PING] = {
        .name = "ping",
        .text[ENGINE_PG] =
            "SELECT 1 AS one",
        .text[ENGINE_LITE] =
            "SELECT 1 AS one",
        .params = 0,
        .columns = 1,
        .column_names = ping_columns,
    },
    [STMT_BEGIN] = {
        .name = "begin",
        .text[ENGINE_PG] =
            "BEGIN ISOLATION LEVEL READ COMMITTED",
        .text[ENGINE_LITE] =
            "BEGIN IMMEDIATE",
        .params = 0,
        .columns = 0,
    },
    [STMT_COMMIT] = {
        .name = "commit",
        .text[ENGINE_PG] =
            "COMMIT",
        .text[ENGINE_LITE] =
            "COMMIT",
        .params = 0,
        .columns = 0,
    },
    [STMT_ROLLBACK] = {
        .name = "rollback",
        .text[ENGINE_PG] =
            "ROLLBACK",
        .text[ENGINE_LITE] =
            "ROLLBACK",
        .params = 0,
        .columns = 0,
    },
    [STMT_MIGRATE_LOCK] = {
        .name = "migrate_lock",
        .text[ENGINE_PG] =
            "SELECT 1 AS locked FROM pg_advisory_xact_lock(4061193870412)",
        .text[ENGINE_LITE] =
            "SELECT 1 AS locked",
        .params = 0,
        .columns = 1,
        .column_names = migrate_lock_columns,
    },
    [STMT_SCHEMA_PRESENT] = {
        .name = "schema_present",
        .text[ENGINE_PG] =
            "SELECT count(*) AS present FROM pg_catalog.pg_class c\n"
            "JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace\n"
            "WHERE c.relname = 'schema_version' AND c.relkind IN ('r', 'p')\n"
            "    AND n.nspname = ANY (current_schemas(FALSE))",
        .text[ENGINE_LITE] =
            "SELECT count(*) AS present FROM sqlite_master WHERE type = 'table' AND name = 'schema_version'",
        .params = 0,
        .columns = 1,
        .column_names = schema_present_columns,
    },
    [STMT_SCHEMA_CREATE] = {
        .name = "schema_create",
        .text[ENGINE_PG] =
            "CREATE TABLE schema_version (version BIGINT NOT NULL PRIMARY KEY, applied_ms BIGINT NOT NULL)",
        .text[ENGINE_LITE] =
            "CREATE TABLE schema_version (version BIGINT NOT NULL PRIMARY KEY, applied_ms BIGINT NOT NULL)",
        .params = 0,
        .columns = 0,
    },
    [STMT_SCHEMA_GET] = {
        .name = "schema_get",
        .text[ENGINE_PG] =
            "SELECT coalesce(max(version), 0) AS version FROM schema_version",
        .text[ENGINE_LITE] =
            "SELECT coalesce(max(version), 0) AS version FROM schema_version",
        .params = 0,
        .columns = 1,
        .column_names = schema_get_columns,
    },
    [STMT_SCHEMA_ADD] = {
        .name = "schema_add",
        .text[ENGINE_PG] =
            "INSERT INTO schema_version (version, applied_ms) VALUES ($1, $2)",
        .text[ENGINE_LITE] =
            "INSERT INTO schema_version (version, applied_ms) VALUES ($1, $2)",
        .params = 2,
        .columns = 0,
    },
    [STMT_WAREHOUSE_LOCK] = {
        .name = "warehouse_lock",
        .text[ENGINE_PG] =
            "SELECT 1 AS locked FROM pg_advisory_xact_lock(4061193870413)",
        .text[ENGINE_LITE] =
            "SELECT 1 AS locked",
        .params = 0,
        .columns = 1,
        .column_names = warehouse_lock_columns,
    },
    [STMT_WAREHOUSE_ENSURE] = {
        .name = "warehouse_ensure",
        .text[ENGINE_PG] =
            "INSERT INTO warehouse (id, name, uuid, base) VALUES ($1, $2, $3, $4)\n"
            "ON CONFLICT (name) DO UPDATE SET base = excluded.base WHERE warehouse.profile = ''\n"
            "RETURNING id",
        .text[ENGINE_LITE] =
            "INSERT INTO warehouse (id, name, uuid, base) VALUES ($1, $2, $3, $4)\n"
            "ON CONFLICT (name) DO UPDATE SET base = excluded.base WHERE warehouse.profile = ''\n"
            "RETURNING id",
        .params = 4,
        .columns = 1,
        .column_names = warehouse_ensure_columns,
    },
    [STMT_WAREHOUSE_FIND] = {
        .name = "warehouse_find",
        .text[ENGINE_PG] =
            "SELECT id, name, uuid, base, profile, active, version FROM warehouse\n"
            "WHERE name = $1 OR uuid = $2 OR base = $1\n"
            "ORDER BY name = $1 DESC, uuid = $2 DESC, id LIMIT 1",
        .text[ENGINE_LITE] =
            "SELECT id, name, uuid, base, profile, active, version FROM warehouse\n"
            "WHERE name = $1 OR uuid = $2 OR base = $1\n"
            "ORDER BY name = $1 DESC, uuid = $2 DESC, id LIMIT 1",
        .params = 2,
        .columns = 7,
        .column_names = warehouse_find_columns,
    },
    [STMT_WAREHOUSE_PAGE] = {
        .name = "warehouse_page",
        .text[ENGINE_PG] =
            "SELECT id, name, uuid, base, profile, active, version FROM warehouse\n"
            "WHERE name > $1 ORDER BY name LIMIT $2",
        .text[ENGINE_LITE] =
            "SELECT id, name, uuid, base, profile, active, version FROM warehouse\n"
            "WHERE name > $1 ORDER BY name LIMIT $2",
        .params = 2,
        .columns = 7,
        .column_names = warehouse_page_columns,
    },
    [STMT_WAREHOUSE_INSERT] = {
        .name = "warehouse_insert",
        .text[ENGINE_PG] =
            "INSERT INTO warehouse (id, name, uuid, base, profile, active, version)\n"
            "VALUES ($1, $2, $3, $4, $5, $6, $7)\n"
            "ON CONFLICT (id) DO UPDATE SET id = excluded.id\n"
            "RETURNING id",
        .text[ENGINE_LITE] =
            "INSERT INTO warehouse (id, name, uuid, base, profile, active, version)\n"
            "VALUES ($1, $2, $3, $4, $5, $6, $7)\n"
            "ON CONFLICT (id) DO UPDATE SET id = excluded.id\n"
            "RETURNING id",
        .params = 7,
        .columns = 1,
        .column_names = warehouse_insert_columns,
    },
    [STMT_WAREHOUSE_SET] = {
        .name = "warehouse_set",
        .text[ENGINE_PG] =
            "UPDATE warehouse SET version = $3, name = $4, base = $5, profile = $6, active = $7\n"
            "WHERE id = $1 AND (version = $2 OR version = $3)\n"
            "RETURNING id",
        .text[ENGINE_LITE] =
            "UPDATE warehouse SET version = $3, name = $4, base = $5, profile = $6, active = $7\n"
            "WHERE id = $1 AND (version = $2 OR version = $3)\n"
            "RETURNING id",
        .params = 7,
        .columns = 1,
        .column_names = warehouse_set_columns,
    },
    [STMT_WAREHOUSE_DELETE] = {
        .name = "warehouse_delete",
        .text[ENGINE_PG] =
            "DELETE FROM warehouse\n"
            "WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM object WHERE warehouse_id = $1)\n"
            "RETURNING id",
        .text[ENGINE_LITE] =
            "DELETE FROM warehouse\n"
            "WHERE id = $1 AND NOT EXISTS (SELECT 1 FROM object WHERE warehouse_id = $1)\n"
            "RETURNING id",
        .params = 1,
        .columns = 1,
        .column_names = warehouse_delete_columns,
    },
    [STMT_WAREHOUSE_OBJECTS] = {
        .name = "warehouse_objects",
        .text[ENGINE_PG] =
            "SELECT\n"
            "    (SELECT count(*) FROM namespace WHERE warehouse_id = $1) AS namespaces,\n"
            "    (SELECT count(*) FROM object WHERE warehouse_id = $1 AND purge_ms IS NOT NULL) AS marks",
        .text[ENGINE_LITE] =
            "SELECT\n"
            "    (SELECT count(*) FROM namespace WHERE warehouse_id = $1) AS namespaces,\n"
            "    (SELECT count(*) FROM object WHERE warehouse_id = $1 AND purge_ms IS NOT NULL) AS marks",
        .params = 1,
        .columns = 2,
        .column_names = warehouse_objects_columns,
    },
    [STMT_WAREHOUSE_FORGET_CHANGES] = {
        .name = "warehouse_forget_changes",
        .text[ENGINE_PG] =
            "DELETE FROM change WHERE warehouse_id = $1",
        .text[ENGINE_LITE] =
            "DELETE FROM change WHERE warehouse_id = $1",
        .params = 1,
        .columns = 0,
    },
    [STMT_WAREHOUSE_FORGET_KEYS] = {
        .name = "warehouse_forget_keys",
        .text[ENGINE_PG] =
            "DELETE FROM idempotency WHERE warehouse_id = $1",
        .text[ENGINE_LITE] =
            "DELETE FROM idempotency WHERE warehouse_id = $1",
        .params = 1,
        .columns = 0,
    },
    [STMT_WAREHOUSE_FORGET_LEASES] = {
        .name = "warehouse_forget_leases",
        .text[ENGINE_PG] =
            "DELETE FROM lease WHERE warehouse_id = $1",
        .text[ENGINE_LITE] =
            "DELETE FROM lease WHERE warehouse_id = $1",
        .params = 1,
        .columns = 0,
    },
    [STMT_WAREHOUSE_FORGET_JOBS] = {
        .name = "warehouse_forget_jobs",
        .text[ENGINE_PG] =
            "DELETE FROM job WHERE warehouse_id = $1",
        .text[ENGINE_LITE] =
            "DELETE FROM job WHERE warehouse_id = $1",
        .params = 1,
        .columns = 0,
    },
    [STMT_WAREHOUSE_FORGET_SECRETS] = {
        .name = "warehouse_forget_secrets",
        .text[ENGINE_PG] =
            "DELETE FROM secret WHERE warehouse_id = $1",
        .text[ENGINE_LITE] =
            "DELETE FROM secret WHERE warehouse_id = $1",
        .params = 1,
        .columns = 0,
    },
    [STMT_NS_GET] = {
        .name = "ns_get",
        .text[ENGINE_PG] =
            "SELECT id, version, path, properties FROM namespace WHERE warehouse_id = $1 AND path = $2",
        .text[ENGINE_LITE] =
            "SELECT id, version, path, properties FROM namespace WHERE warehouse_id = $1 AND path = $2",
        .params = 2,
        .columns = 4,
        .column_names = ns_get_columns,
    },
    [STMT_NS_INSERT] = {
        .name = "ns_insert",
        .text[ENGINE_PG] =
            "INSERT INTO namespace (warehouse_id, id, parent_id, name, path, version, properties)\n"
            "VALUES ($1, $2, $3, $4, $5, 1, $6)\n"
            "ON CONFLICT DO NOTHING\n"
            "RETURNING id",
        .text[ENGINE_LITE] =
            "INSERT INTO namespace (warehouse_id, id, parent_id, name, path, version, properties)\n"
            "VALUES ($1, $2, $3, $4, $5, 1, $6)\n"
            "ON CONFLICT DO NOTHING\n"
            "RETURNING id",
        .params = 6,
        .columns = 1,
        .column_names = ns_insert_columns,
    },
    [STMT_NS_SET] = {
        .name = "ns_set",
        .text[ENGINE_PG] =
            "UPDATE namespace SET properties = $4, version = version + 1\n"
            "WHERE warehouse_id = $1 AND id = $2 AND version = $3\n"
            "RETURNING version",
        .text[ENGINE_LITE] =
            "UPDATE namespace SET properties = $4, version = version + 1\n"
            "WHERE warehouse_id = $1 AND id = $2 AND version = $3\n"
            "RETURNING version",
        .params = 4,
        .columns = 1,
        .column_names = ns_set_columns,
    },
    [STMT_NS_CONTENT] = {
        .name = "ns_content",
        .text[ENGINE_PG] =
            "SELECT\n"
            "    (SELECT count(*) FROM object WHERE warehouse_id = $1 AND namespace_id = $2 AND kind = 1)\n"
            "        AS tables,\n"
            "    (SELECT count(*) FROM object WHERE warehouse_id = $1 AND namespace_id = $2 AND kind = 2)\n"
            "        AS views,\n"
            "    (SELECT count(*) FROM namespace WHERE warehouse_id = $1 AND parent_id = $2) AS namespaces",
        .text[ENGINE_LITE] =
            "SELECT\n"
            "    (SELECT count(*) FROM object WHERE warehouse_id = $1 AND namespace_id = $2 AND kind = 1)\n"
            "        AS tables,\n"
            "    (SELECT count(*) FROM object WHERE warehouse_id = $1 AND namespace_id = $2 AND kind = 2)\n"
            "        AS views,\n"
            "    (SELECT count(*) FROM namespace WHERE warehouse_id = $1 AND parent_id = $2) AS namespaces",
        .params = 2,
        .columns = 3,
        .column_names = ns_content_columns,
    },
    [STMT_NS_DELETE] = {
        .name = "ns_delete",
        .text[ENGINE_PG] =
            "DELETE FROM namespace WHERE warehouse_id = $1 AND id = $2 RETURNING id",
        .text[ENGINE_LITE] =
            "DELETE FROM namespace WHERE warehouse_id = $1 AND id = $2 RETURNING id",
        .params = 2,
        .columns = 1,
        .column_names = ns_delete_columns,
    },
    [STMT_NS_PAGE] = {
        .name = "ns_page",
        .text[ENGINE_PG] =
            "SELECT name FROM namespace\n"
            "WHERE warehouse_id = $1\n"
            "    AND parent_id = (SELECT id FROM namespace WHERE warehouse_id = $1 AND path = $2)\n"
            "    AND name > $3\n"
            "ORDER BY name LIMIT $4",
        .text[ENGINE_LITE] =
            "SELECT name FROM namespace\n"
            "WHERE warehouse_id = $1\n"
            "    AND parent_id = (SELECT id FROM namespace WHERE warehouse_id = $1 AND path = $2)\n"
            "    AND name > $3\n"
            "ORDER BY name LIMIT $4",
        .params = 4,
        .columns = 1,
        .column_names = ns_page_columns,
    },
    [STMT_NS_PAGE_ROOT] = {
        .name = "ns_page_root",
        .text[ENGINE_PG] =
            "SELECT name FROM namespace WHERE warehouse_id = $1 AND parent_id IS NULL AND name > $2\n"
            "ORDER BY parent_id, name LIMIT $3",
        .text[ENGINE_LITE] =
            "SELECT name FROM namespace WHERE warehouse_id = $1 AND parent_id IS NULL AND name > $2\n"
            "ORDER BY parent_id, name LIMIT $3",
        .params = 3,
        .columns = 1,
        .column_names = ns_page_root_columns,
    },
    [STMT_OBJECT_GET] = {
        .name = "object_get",
        .text[ENGINE_PG] =
            "SELECT n.id AS namespace, o.id, o.kind, o.uuid, o.location, o.metadata_location\n"
            "FROM namespace n\n"
            "LEFT JOIN LATERAL (\n"
            "    SELECT y.id, y.kind, y.uuid, y.location, y.metadata_location FROM object y\n"
            "    WHERE y.warehouse_id = $1 AND y.namespace_id = n.id AND y.name = $3 LIMIT 1) o\n"
            "    ON TRUE\n"
            "WHERE n.warehouse_id = $1 AND n.path = $2",
        .text[ENGINE_LITE] =
            "SELECT n.id AS namespace, o.id, o.kind, o.uuid, o.location, o.metadata_location\n"
            "FROM namespace n\n"
            "LEFT JOIN object o ON o.warehouse_id = n.warehouse_id AND o.namespace_id = n.id AND o.name = $3\n"
            "WHERE n.warehouse_id = $1 AND n.path = $2",
        .params = 3,
        .columns = 6,
        .column_names = object_get_columns,
    },
    [STMT_OBJECT_ROOM] = {
        .name = "object_room",
        .text[ENGINE_PG] =
            "SELECT n.id, n.version, n.path, n.properties, o.kind\n"
            "FROM namespace n\n"
            "LEFT JOIN LATERAL (\n"
            "    SELECT y.kind FROM object y\n"
            "    WHERE y.warehouse_id = $1 AND y.namespace_id = n.id AND y.name = $3 LIMIT 1) o\n"
            "    ON TRUE\n"
            "WHERE n.warehouse_id = $1 AND n.path = $2",
        .text[ENGINE_LITE] =
            "SELECT n.id, n.version, n.path, n.properties, o.kind\n"
            "FROM namespace n\n"
            "LEFT JOIN object o ON o.warehouse_id = n.warehouse_id AND o.namespace_id = n.id AND o.name = $3\n"
            "WHERE n.warehouse_id = $1 AND n.path = $2",
        .params = 3,
        .columns = 5,
        .column_names = object_room_columns,
    },
    [STMT_OBJECT_BY_ID] = {
        .name = "object_by_id",
        .text[ENGINE_PG] =
            "SELECT location, metadata_location FROM object\n"
            "WHERE warehouse_id = $1 AND id = $2 AND namespace_id IS NOT NULL",
        .text[ENGINE_LITE] =
            "SELECT location, metadata_location FROM object\n"
            "WHERE warehouse_id = $1 AND id = $2 AND namespace_id IS NOT NULL",
        .params = 2,
        .columns = 2,
        .column_names = object_by_id_columns,
    },
    [STMT_OBJECT_INSERT] = {
        .name = "object_insert",
        .text[ENGINE_PG] =
            "INSERT INTO object\n"
            "    (warehouse_id, id, namespace_id, name, kind, uuid, location, metadata_location, replaced)\n"
            "SELECT $1, $2, n.id, $4, $5, $6, $7, $8, $9 FROM namespace n\n"
            "WHERE n.warehouse_id = $1 AND n.path = $3\n"
            "ON CONFLICT DO NOTHING\n"
            "RETURNING id",
        .text[ENGINE_LITE] =
            "INSERT INTO object\n"
            "    (warehouse_id, id, namespace_id, name, kind, uuid, location, metadata_location, replaced)\n"
            "SELECT $1, $2, n.id, $4, $5, $6, $7, $8, $9 FROM namespace n\n"
            "WHERE n.warehouse_id = $1 AND n.path = $3\n"
            "ON CONFLICT DO NOTHING\n"
            "RETURNING id",
        .params = 9,
        .columns = 1,
        .column_names = object_insert_columns,
    },
    [STMT_OBJECT_INSERT_ONE] = {
        .name = "object_insert_one",
        .text[ENGINE_PG] =
            "WITH room AS (\n"
            "    SELECT f.path FROM location f\n"
            "    WHERE f.authority = $9 AND f.path = $11 AND f.object_id IS NULL\n"
            "        AND (SELECT count(*) FROM unnest(CAST($12 AS TEXT[])) AS w (path)\n"
            "            CROSS JOIN LATERAL (\n"
            "                SELECT x.path, x.object_id FROM location x\n"
            "                WHERE x.authority = $9 AND x.path = w.path LIMIT 1) l\n"
            "            WHERE l.path = $10 OR l.object_id IS NOT NULL) = 0\n"
            "        AND (SELECT b.path FROM location b\n"
            "            WHERE b.authority = $9 AND b.path > $13 AND b.path < $14 LIMIT 1) IS NULL\n"
            "    FOR KEY SHARE\n"
            "), made AS (\n"
            "    INSERT INTO object\n"
            "        (warehouse_id, id, namespace_id, name, kind, uuid, location, metadata_location)\n"
            "    SELECT $1, $2, $3, $4, $5, $6, $7, $8 FROM room\n"
            "    ON CONFLICT DO NOTHING\n"
            "    RETURNING id\n"
            "), placed AS (\n"
            "    INSERT INTO location (authority, path, parent_path, warehouse_id, object_id)\n"
            "    SELECT $9, $10, $11, $1, id FROM made\n"
            "    RETURNING object_id\n"
            "), kept AS (\n"
            "    INSERT INTO idempotency\n"
            "        (warehouse_id, principal, request_key, digest, object_id, status, answer, expires_ms)\n"
            "    SELECT $1, coalesce($18, ''), CAST($21 AS TEXT), $22, object_id, CAST($23 AS BIGINT), $24,\n"
            "        CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT) + CAST($25 AS BIGINT)\n"
            "    FROM placed WHERE CAST($21 AS TEXT) IS NOT NULL\n"
            ")\n"
            "INSERT INTO change\n"
            "    (warehouse_id, token, object_id, kind, metadata_location, digest, principal, request_id, at_ms)\n"
            "SELECT $1, $15, object_id, 'create', $16, $17, $18, $19, $20 FROM placed\n"
            "RETURNING token",
        .params = 25,
        .columns = 1,
        .column_names = object_insert_one_columns,
    },
    [STMT_OBJECT_INSERT_MANY] = {
        .name = "object_insert_many",
        .text[ENGINE_PG] =
            "WITH barred AS (\n"
            "    SELECT l.authority, l.path || '/' AS path\n"
            "    FROM unnest(CAST($22 AS TEXT[]), CAST($23 AS TEXT[])) AS w (authority, path)\n"
            "    CROSS JOIN LATERAL (\n"
            "        SELECT x.authority, x.path, x.object_id FROM location x\n"
            "        WHERE x.authority = w.authority AND x.path = w.path LIMIT 1) l\n"
            "    WHERE l.object_id IS NOT NULL OR l.path = ANY (CAST($10 AS TEXT[]))\n"
            "), room AS (\n"
            "    SELECT k.*\n"
            "    FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS BIGINT[]), CAST($4 AS TEXT[]),\n"
            "        CAST($5 AS BIGINT[]), CAST($6 AS TEXT[]), CAST($7 AS TEXT[]), CAST($8 AS TEXT[]),\n"
            "        CAST($9 AS TEXT[]), CAST($10 AS TEXT[]), CAST($11 AS TEXT[]), CAST($12 AS TEXT[]),\n"
            "        CAST($13 AS TEXT[]), CAST($14 AS TEXT[]), CAST($15 AS TEXT[]), CAST($16 AS BIGINT[]),\n"
            "        CAST($17 AS TEXT[]), CAST($18 AS TEXT[]), CAST($19 AS BIGINT[]), CAST($20 AS TEXT[]),\n"
            "        CAST($21 AS BIGINT[]))\n"
            "        AS k (warehouse, id, namespace, name, kind, uuid, location, metadata_location, authority,\n"
            "            place, folder, token, digest, principal, request_id, at_ms, key, key_digest, status,\n"
            "            answer, lifetime_ms)\n"
            "    CROSS JOIN LATERAL (\n"
            "        SELECT f.path FROM location f\n"
            "        WHERE f.authority = k.authority AND f.path = k.folder AND f.object_id IS NULL\n"
            "        LIMIT 1 FOR KEY SHARE SKIP LOCKED) f\n"
            "    WHERE NOT EXISTS (SELECT 1 FROM barred b\n"
            "            WHERE b.authority = k.authority AND starts_with(k.place || '/', b.path))\n"
            "        AND (SELECT l.path FROM location l\n"
            "            WHERE l.authority = k.authority AND l.path > k.place || '/' AND l.path < k.place || '0'\n"
            "            LIMIT 1) IS NULL\n"
            "), made AS (\n"
            "    INSERT INTO object\n"
            "        (warehouse_id, id, namespace_id, name, kind, uuid, location, metadata_location)\n"
            "    SELECT warehouse, id, namespace, name, kind, uuid, location, metadata_location FROM room\n"
            "    ON CONFLICT DO NOTHING\n"
            "    RETURNING warehouse_id, id\n"
            "), fresh AS (\n"
            "    SELECT room.* FROM made JOIN room ON room.warehouse = made.warehouse_id AND room.id = made.id\n"
            "), placed AS (\n"
            "    INSERT INTO location (authority, path, parent_path, warehouse_id, object_id)\n"
            "    SELECT authority, place, folder, warehouse, id FROM fresh\n"
            "), kept AS (\n"
            "    INSERT INTO idempotency\n"
            "        (warehouse_id, principal, request_key, digest, object_id, status, answer, expires_ms)\n"
            "    SELECT warehouse, coalesce(principal, ''), key, key_digest, id, status, answer,\n"
            "        CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT) + lifetime_ms\n"
            "    FROM fresh WHERE key IS NOT NULL\n"
            ")\n"
            "INSERT INTO change\n"
            "    (warehouse_id, token, object_id, kind, metadata_location, digest, principal, request_id, at_ms)\n"
            "SELECT warehouse, token, id, 'create',\n"
            "    CASE WHEN substr(metadata_location, 1, length(location) + 1) = location || '/'\n"
            "        THEN substr(metadata_location, length(location) + 1) ELSE metadata_location END,\n"
            "    digest, principal, request_id, at_ms\n"
            "FROM fresh\n"
            "RETURNING token",
        .params = 23,
        .columns = 1,
        .column_names = object_insert_many_columns,
    },
    [STMT_OBJECT_WHY] = {
        .name = "object_why",
        .text[ENGINE_PG] =
            "SELECT\n"
            "    (SELECT id FROM namespace WHERE warehouse_id = $1 AND path = $2) AS namespace,\n"
            "    (SELECT kind FROM object\n"
            "        WHERE warehouse_id = $1 AND name = $3\n"
            "            AND namespace_id = (SELECT id FROM namespace WHERE warehouse_id = $1 AND path = $2)\n"
            "        ) AS kind,\n"
            "    (SELECT id FROM object WHERE warehouse_id = $1 AND uuid = $4) AS twin",
        .text[ENGINE_LITE] =
            "SELECT\n"
            "    (SELECT id FROM namespace WHERE warehouse_id = $1 AND path = $2) AS namespace,\n"
            "    (SELECT kind FROM object\n"
            "        WHERE warehouse_id = $1 AND name = $3\n"
            "            AND namespace_id = (SELECT id FROM namespace WHERE warehouse_id = $1 AND path = $2)\n"
            "        ) AS kind,\n"
            "    (SELECT id FROM object WHERE warehouse_id = $1 AND uuid = $4) AS twin",
        .params = 4,
        .columns = 3,
        .column_names = object_why_columns,
    },
    [STMT_OBJECT_SWAP_ONE] = {
        .name = "object_swap_one",
        .text[ENGINE_PG] =
            "WITH moved AS (\n"
            "    UPDATE object SET metadata_location = $4\n"
            "    WHERE warehouse_id = $1 AND id = $2 AND metadata_location = $3 AND namespace_id IS NOT NULL\n"
            "    RETURNING id, location\n"
            ")\n"
            "INSERT INTO change\n"
            "    (warehouse_id, token, object_id, kind, metadata_location, digest, principal, request_id, at_ms)\n"
            "SELECT $1, $5, id, 'swap',\n"
            "    CASE WHEN substr($4, 1, length(location) + 1) = location || '/'\n"
            "        THEN substr($4, length(location) + 1) ELSE $4 END,\n"
            "    $6, $7, $8, $9\n"
            "FROM moved\n"
            "RETURNING token",
        .params = 9,
        .columns = 1,
        .column_names = object_swap_one_columns,
    },
    [STMT_OBJECT_SWAP_KEYED] = {
        .name = "object_swap_keyed",
        .text[ENGINE_PG] =
            "WITH moved AS (\n"
            "    UPDATE object SET metadata_location = $4\n"
            "    WHERE warehouse_id = $1 AND id = $2 AND metadata_location = $3 AND namespace_id IS NOT NULL\n"
            "    RETURNING id, location\n"
            "), kept AS (\n"
            "    INSERT INTO idempotency\n"
            "        (warehouse_id, principal, request_key, digest, object_id, status, answer, expires_ms)\n"
            "    SELECT $1, coalesce($7, ''), $10, $6, id, CAST($11 AS BIGINT), $4,\n"
            "        CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT) + CAST($12 AS BIGINT)\n"
            "    FROM moved\n"
            ")\n"
            "INSERT INTO change\n"
            "    (warehouse_id, token, object_id, kind, metadata_location, digest, principal, request_id, at_ms)\n"
            "SELECT $1, $5, id, 'swap',\n"
            "    CASE WHEN substr($4, 1, length(location) + 1) = location || '/'\n"
            "        THEN substr($4, length(location) + 1) ELSE $4 END,\n"
            "    $6, $7, $8, $9\n"
            "FROM moved\n"
            "RETURNING token",
        .params = 12,
        .columns = 1,
        .column_names = object_swap_keyed_columns,
    },
    [STMT_OBJECT_HOLD] = {
        .name = "object_hold",
        .text[ENGINE_PG] =
            "SELECT o.id, o.metadata_location\n"
            "FROM unnest(CAST($2 AS BIGINT[])) AS k (id)\n"
            "CROSS JOIN LATERAL (\n"
            "    SELECT y.id, y.metadata_location FROM object y\n"
            "    WHERE y.warehouse_id = $1 AND y.id = k.id AND y.namespace_id IS NOT NULL\n"
            "    LIMIT 1 FOR NO KEY UPDATE) o",
        .params = 2,
        .columns = 2,
        .column_names = object_hold_columns,
    },
    [STMT_OBJECT_SWAP_MANY] = {
        .name = "object_swap_many",
        .text[ENGINE_PG] =
            "WITH held AS (\n"
            "    SELECT k.*, o.location, o.row\n"
            "    FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS BIGINT[]), CAST($3 AS TEXT[]), CAST($4 AS TEXT[]),\n"
            "        CAST($5 AS TEXT[]), CAST($6 AS TEXT[]), CAST($7 AS TEXT[]), CAST($8 AS TEXT[]),\n"
            "        CAST($9 AS BIGINT[]), CAST($10 AS TEXT[]), CAST($11 AS BIGINT[]), CAST($12 AS BIGINT[]))\n"
            "        AS k (warehouse, id, old, new, token, digest, principal, request_id, at_ms, key, status,\n"
            "            lifetime_ms)\n"
            "    CROSS JOIN LATERAL (\n"
            "        SELECT y.location, y.ctid AS row FROM object y\n"
            "        WHERE y.warehouse_id = k.warehouse AND y.id = k.id AND y.metadata_location = k.old\n"
            "            AND y.namespace_id IS NOT NULL\n"
            "        LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED) o\n"
            "), moved AS (\n"
            "    UPDATE object SET metadata_location = held.new FROM held\n"
            "    WHERE object.ctid = held.row\n"
            "    RETURNING held.*\n"
            "), kept AS (\n"
            "    INSERT INTO idempotency\n"
            "        (warehouse_id, principal, request_key, digest, object_id, status, answer, expires_ms)\n"
            "    SELECT warehouse, coalesce(principal, ''), key, digest, id, status, new, CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT) + lifetime_ms\n"
            "    FROM moved WHERE key IS NOT NULL\n"
            ")\n"
            "INSERT INTO change\n"
            "    (warehouse_id, token, object_id, kind, metadata_location, digest, principal, request_id, at_ms)\n"
            "SELECT warehouse, token, id, 'swap',\n"
            "    CASE WHEN substr(new, 1, length(location) + 1) = location || '/'\n"
            "        THEN substr(new, length(location) + 1) ELSE new END,\n"
            "    digest, principal, request_id, at_ms\n"
            "FROM moved\n"
            "RETURNING token",
        .params = 12,
        .columns = 1,
        .column_names = object_swap_many_columns,
    },
    [STMT_OBJECT_SWAP] = {
        .name = "object_swap",
        .text[ENGINE_PG] =
            "UPDATE object SET metadata_location = $4, location = $5\n"
            "WHERE warehouse_id = $1 AND id = $2 AND metadata_location = $3 AND namespace_id IS NOT NULL\n"
            "RETURNING id",
        .text[ENGINE_LITE] =
            "UPDATE object SET metadata_location = $4, location = $5\n"
            "WHERE warehouse_id = $1 AND id = $2 AND metadata_location = $3 AND namespace_id IS NOT NULL\n"
            "RETURNING id",
        .params = 5,
        .columns = 1,
        .column_names = object_swap_columns,
    },
    [STMT_OBJECT_REPLACE] = {
        .name = "object_replace",
        .text[ENGINE_PG] =
            "UPDATE object\n"
            "SET uuid = $5, location = $6, metadata_location = $7, replaced = replaced + 1\n"
            "WHERE warehouse_id = $1 AND id = $2 AND namespace_id = $3 AND name = $4\n"
            "RETURNING id",
        .text[ENGINE_LITE] =
            "UPDATE object\n"
            "SET uuid = $5, location = $6, metadata_location = $7, replaced = replaced + 1\n"
            "WHERE warehouse_id = $1 AND id = $2 AND namespace_id = $3 AND name = $4\n"
            "RETURNING id",
        .params = 7,
        .columns = 1,
        .column_names = object_replace_columns,
    },
    [STMT_OBJECT_RENAME] = {
        .name = "object_rename",
        .text[ENGINE_PG] =
            "UPDATE object SET namespace_id = $5, name = $6\n"
            "WHERE warehouse_id = $1 AND id = $2 AND namespace_id = $3 AND name = $4\n"
            "RETURNING id",
        .text[ENGINE_LITE] =
            "UPDATE object SET namespace_id = $5, name = $6\n"
            "WHERE warehouse_id = $1 AND id = $2 AND namespace_id = $3 AND name = $4\n"
            "RETURNING id",
        .params = 6,
        .columns = 1,
        .column_names = object_rename_columns,
    },
    [STMT_OBJECT_DELETE] = {
        .name = "object_delete",
        .text[ENGINE_PG] =
            "DELETE FROM object\n"
            "WHERE warehouse_id = $1 AND id = $2 AND namespace_id = $3 AND name = $4\n"
            "RETURNING metadata_location, location",
        .text[ENGINE_LITE] =
            "DELETE FROM object\n"
            "WHERE warehouse_id = $1 AND id = $2 AND namespace_id = $3 AND name = $4\n"
            "RETURNING metadata_location, location",
        .params = 4,
        .columns = 2,
        .column_names = object_delete_columns,
    },
    [STMT_OBJECT_PURGE] = {
        .name = "object_purge",
        .text[ENGINE_PG] =
            "UPDATE object SET namespace_id = NULL, purge_ms = $5\n"
            "WHERE warehouse_id = $1 AND id = $2 AND namespace_id = $3 AND name = $4\n"
            "RETURNING metadata_location, location",
        .text[ENGINE_LITE] =
            "UPDATE object SET namespace_id = NULL, purge_ms = $5\n"
            "WHERE warehouse_id = $1 AND id = $2 AND namespace_id = $3 AND name = $4\n"
            "RETURNING metadata_location, location",
        .params = 5,
        .columns = 2,
        .column_names = object_purge_columns,
    },
    [STMT_OBJECT_PAGE] = {
        .name = "object_page",
        .text[ENGINE_PG] =
            "SELECT name FROM object\n"
            "WHERE warehouse_id = $1\n"
            "    AND namespace_id = (SELECT id FROM namespace WHERE warehouse_id = $1 AND path = $2)\n"
            "    AND kind = $3 AND name > $4\n"
            "ORDER BY name LIMIT $5",
        .text[ENGINE_LITE] =
            "SELECT name FROM object\n"
            "WHERE warehouse_id = $1\n"
            "    AND namespace_id = (SELECT id FROM namespace WHERE warehouse_id = $1 AND path = $2)\n"
            "    AND kind = $3 AND name > $4\n"
            "ORDER BY name LIMIT $5",
        .params = 5,
        .columns = 1,
        .column_names = object_page_columns,
    },
    [STMT_LOCATION_INSERT] = {
        .name = "location_insert",
        .text[ENGINE_PG] =
            "INSERT INTO location (authority, path, parent_path, warehouse_id, object_id)\n"
            "VALUES ($1, $2, $3, $4, $5)\n"
            "ON CONFLICT (authority, path) DO NOTHING\n"
            "RETURNING path",
        .text[ENGINE_LITE] =
            "INSERT INTO location (authority, path, parent_path, warehouse_id, object_id)\n"
            "VALUES ($1, $2, $3, $4, $5)\n"
            "ON CONFLICT (authority, path) DO NOTHING\n"
            "RETURNING path",
        .params = 5,
        .columns = 1,
        .column_names = location_insert_columns,
    },
    [STMT_LOCATION_ABOVE] = {
        .name = "location_above",
        .text[ENGINE_PG] =
            "WITH RECURSIVE up (path) AS (\n"
            "    SELECT rtrim(rtrim(CAST($2 AS TEXT), replace(CAST($2 AS TEXT), '/', '')), '/')\n"
            "    UNION ALL\n"
            "    SELECT rtrim(rtrim(path, replace(path, '/', '')), '/') FROM up WHERE path <> ''\n"
            ")\n"
            "SELECT path FROM up\n"
            "WHERE (SELECT l.path FROM location l WHERE l.authority = $1 AND l.path = up.path) IS NOT NULL\n"
            "ORDER BY length(path) DESC LIMIT 1",
        .text[ENGINE_LITE] =
            "WITH RECURSIVE up (path) AS (\n"
            "    SELECT rtrim(rtrim(CAST($2 AS TEXT), replace(CAST($2 AS TEXT), '/', '')), '/')\n"
            "    UNION ALL\n"
            "    SELECT rtrim(rtrim(path, replace(path, '/', '')), '/') FROM up WHERE path <> ''\n"
            ")\n"
            "SELECT path FROM up\n"
            "WHERE (SELECT l.path FROM location l WHERE l.authority = $1 AND l.path = up.path) IS NOT NULL\n"
            "ORDER BY length(path) DESC LIMIT 1",
        .params = 2,
        .columns = 1,
        .column_names = location_above_columns,
    },
    [STMT_LOCATION_CLASH] = {
        .name = "location_clash",
        .text[ENGINE_PG] =
            "WITH RECURSIVE up (path) AS (\n"
            "    SELECT rtrim(rtrim(CAST($2 AS TEXT), replace(CAST($2 AS TEXT), '/', '')), '/')\n"
            "    UNION ALL\n"
            "    SELECT rtrim(rtrim(path, replace(path, '/', '')), '/') FROM up WHERE path <> ''\n"
            ")\n"
            "SELECT path FROM up\n"
            "WHERE path <> $2\n"
            "    AND (SELECT l.object_id FROM location l WHERE l.authority = $1 AND l.path = up.path) IS NOT NULL\n"
            "UNION ALL\n"
            "SELECT b.path FROM location b WHERE b.authority = $1 AND b.path > $3 AND b.path < $4\n"
            "LIMIT 1",
        .text[ENGINE_LITE] =
            "WITH RECURSIVE up (path) AS (\n"
            "    SELECT rtrim(rtrim(CAST($2 AS TEXT), replace(CAST($2 AS TEXT), '/', '')), '/')\n"
            "    UNION ALL\n"
            "    SELECT rtrim(rtrim(path, replace(path, '/', '')), '/') FROM up WHERE path <> ''\n"
            ")\n"
            "SELECT path FROM up\n"
            "WHERE path <> $2\n"
            "    AND (SELECT l.object_id FROM location l WHERE l.authority = $1 AND l.path = up.path) IS NOT NULL\n"
            "UNION ALL\n"
            "SELECT b.path FROM location b WHERE b.authority = $1 AND b.path > $3 AND b.path < $4\n"
            "LIMIT 1",
        .params = 4,
        .columns = 1,
        .column_names = location_clash_columns,
    },
    [STMT_LOCATION_FREE] = {
        .name = "location_free",
        .text[ENGINE_PG] =
            "DELETE FROM location WHERE warehouse_id = $1 AND object_id = $2\n"
            "RETURNING authority, parent_path AS parent",
        .text[ENGINE_LITE] =
            "DELETE FROM location WHERE warehouse_id = $1 AND object_id = $2\n"
            "RETURNING authority, parent_path AS parent",
        .params = 2,
        .columns = 2,
        .column_names = location_free_columns,
    },
    [STMT_LOCATION_HOLD] = {
        .name = "location_hold",
        .text[ENGINE_PG] =
            "SELECT 1 AS one FROM location WHERE authority = $1 AND path = $2 FOR NO KEY UPDATE",
        .text[ENGINE_LITE] =
            "SELECT 1 AS one FROM location WHERE authority = $1 AND path = $2",
        .params = 2,
        .columns = 1,
        .column_names = location_hold_columns,
    },
    [STMT_LOCATION_PRUNE] = {
        .name = "location_prune",
        .text[ENGINE_PG] =
            "DELETE FROM location\n"
            "WHERE authority = $1 AND path = $2 AND object_id IS NULL\n"
            "    AND (SELECT c.path FROM location c WHERE c.authority = $1 AND c.parent_path = $2 LIMIT 1) IS NULL\n"
            "RETURNING parent_path AS parent",
        .text[ENGINE_LITE] =
            "DELETE FROM location\n"
            "WHERE authority = $1 AND path = $2 AND object_id IS NULL\n"
            "    AND (SELECT c.path FROM location c WHERE c.authority = $1 AND c.parent_path = $2 LIMIT 1) IS NULL\n"
            "RETURNING parent_path AS parent",
        .params = 2,
        .columns = 1,
        .column_names = location_prune_columns,
    },
    [STMT_CHANGE_INSERT] = {
        .name = "change_insert",
        .text[ENGINE_PG] =
            "INSERT INTO change\n"
            "    (warehouse_id, token, object_id, kind, metadata_location, digest, principal, request_id, at_ms)\n"
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)\n"
            "ON CONFLICT (warehouse_id, token) DO NOTHING\n"
            "RETURNING token",
        .text[ENGINE_LITE] =
            "INSERT INTO change\n"
            "    (warehouse_id, token, object_id, kind, metadata_location, digest, principal, request_id, at_ms)\n"
            "VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)\n"
            "ON CONFLICT (warehouse_id, token) DO NOTHING\n"
            "RETURNING token",
        .params = 9,
        .columns = 1,
        .column_names = change_insert_columns,
    },
    [STMT_CHANGE_GET] = {
        .name = "change_get",
        .text[ENGINE_PG] =
            "SELECT kind FROM change WHERE warehouse_id = $1 AND token = $2",
        .text[ENGINE_LITE] =
            "SELECT kind FROM change WHERE warehouse_id = $1 AND token = $2",
        .params = 2,
        .columns = 1,
        .column_names = change_get_columns,
    },
    [STMT_CHANGE_BY_DIGEST] = {
        .name = "change_by_digest",
        .text[ENGINE_PG] =
            "SELECT c.metadata_location, o.location, o.metadata_location AS current\n"
            "FROM change c\n"
            "CROSS JOIN LATERAL (\n"
            "    SELECT y.location, y.metadata_location FROM object y\n"
            "    WHERE y.warehouse_id = $1 AND y.id = c.object_id AND y.purge_ms IS NULL LIMIT 1) o\n"
            "WHERE c.warehouse_id = $1 AND c.digest = $2\n"
            "ORDER BY c.at_ms + 0 DESC LIMIT 1",
        .text[ENGINE_LITE] =
            "SELECT c.metadata_location, o.location, o.metadata_location AS current\n"
            "FROM change c JOIN object o ON o.warehouse_id = c.warehouse_id AND o.id = c.object_id\n"
            "WHERE c.warehouse_id = $1 AND c.digest = $2 AND o.purge_ms IS NULL\n"
            "ORDER BY c.at_ms DESC LIMIT 1",
        .params = 2,
        .columns = 3,
        .column_names = change_by_digest_columns,
    },
    [STMT_CHANGE_DETACH] = {
        .name = "change_detach",
        .text[ENGINE_PG] =
            "UPDATE change SET metadata_location = $3 || metadata_location\n"
            "WHERE warehouse_id = $1 AND object_id = $2 AND digest IS NOT NULL AND metadata_location LIKE '/%'",
        .text[ENGINE_LITE] =
            "UPDATE change SET metadata_location = $3 || metadata_location\n"
            "WHERE warehouse_id = $1 AND object_id = $2 AND digest IS NOT NULL AND metadata_location LIKE '/%'",
        .params = 3,
        .columns = 0,
    },
    [STMT_CHANGE_PRUNE] = {
        .name = "change_prune",
        .text[ENGINE_PG] =
            "DELETE FROM change\n"
            "WHERE warehouse_id = $1 AND at_ms <= (\n"
            "    SELECT max(at_ms) FROM (\n"
            "        SELECT at_ms FROM change WHERE warehouse_id = $1 AND at_ms < CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT) - CAST($2 AS BIGINT)\n"
            "        ORDER BY at_ms LIMIT $3) oldest)\n"
            "RETURNING token",
        .text[ENGINE_LITE] =
            "DELETE FROM change\n"
            "WHERE warehouse_id = $1 AND at_ms <= (\n"
            "    SELECT max(at_ms) FROM (\n"
            "        SELECT at_ms FROM change WHERE warehouse_id = $1 AND at_ms < now_ms() - CAST($2 AS BIGINT)\n"
            "        ORDER BY at_ms LIMIT $3) oldest)\n"
            "RETURNING token",
        .params = 3,
        .columns = 1,
        .column_names = change_prune_columns,
    },
    [STMT_IDEM_GET] = {
        .name = "idem_get",
        .text[ENGINE_PG] =
            "SELECT digest, object_id AS object, status, answer FROM idempotency\n"
            "WHERE warehouse_id = $1 AND principal = $2 AND request_key = $3 AND expires_ms > CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT)",
        .text[ENGINE_LITE] =
            "SELECT digest, object_id AS object, status, answer FROM idempotency\n"
            "WHERE warehouse_id = $1 AND principal = $2 AND request_key = $3 AND expires_ms > now_ms()",
        .params = 3,
        .columns = 4,
        .column_names = idem_get_columns,
    },
    [STMT_IDEM_PUT] = {
        .name = "idem_put",
        .text[ENGINE_PG] =
            "INSERT INTO idempotency\n"
            "    (warehouse_id, principal, request_key, digest, object_id, status, answer, expires_ms)\n"
            "VALUES ($1, $2, $3, $4, $5, $6, $7, CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT) + CAST($8 AS BIGINT))\n"
            "ON CONFLICT (warehouse_id, principal, request_key) DO UPDATE SET\n"
            "    digest = excluded.digest, object_id = excluded.object_id, status = excluded.status,\n"
            "    answer = excluded.answer, expires_ms = excluded.expires_ms\n"
            "WHERE idempotency.expires_ms <= CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT)\n"
            "RETURNING request_key AS key",
        .text[ENGINE_LITE] =
            "INSERT INTO idempotency\n"
            "    (warehouse_id, principal, request_key, digest, object_id, status, answer, expires_ms)\n"
            "VALUES ($1, $2, $3, $4, $5, $6, $7, now_ms() + CAST($8 AS BIGINT))\n"
            "ON CONFLICT (warehouse_id, principal, request_key) DO UPDATE SET\n"
            "    digest = excluded.digest, object_id = excluded.object_id, status = excluded.status,\n"
            "    answer = excluded.answer, expires_ms = excluded.expires_ms\n"
            "WHERE idempotency.expires_ms <= now_ms()\n"
            "RETURNING request_key AS key",
        .params = 8,
        .columns = 1,
        .column_names = idem_put_columns,
    },
    [STMT_IDEM_PRUNE] = {
        .name = "idem_prune",
        .text[ENGINE_PG] =
            "DELETE FROM idempotency\n"
            "WHERE warehouse_id = $1 AND expires_ms <= (\n"
            "    SELECT max(expires_ms) FROM (\n"
            "        SELECT expires_ms FROM idempotency WHERE warehouse_id = $1 AND expires_ms <= CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT)\n"
            "        ORDER BY expires_ms LIMIT $2) oldest)\n"
            "RETURNING request_key AS key",
        .text[ENGINE_LITE] =
            "DELETE FROM idempotency\n"
            "WHERE warehouse_id = $1 AND expires_ms <= (\n"
            "    SELECT max(expires_ms) FROM (\n"
            "        SELECT expires_ms FROM idempotency WHERE warehouse_id = $1 AND expires_ms <= now_ms()\n"
            "        ORDER BY expires_ms LIMIT $2) oldest)\n"
            "RETURNING request_key AS key",
        .params = 2,
        .columns = 1,
        .column_names = idem_prune_columns,
    },
    [STMT_LEASE_TAKE] = {
        .name = "lease_take",
        .text[ENGINE_PG] =
            "INSERT INTO lease (warehouse_id, name, holder, until_ms)\n"
            "VALUES ($1, $2, $3, CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT) + CAST($4 AS BIGINT))\n"
            "ON CONFLICT (warehouse_id, name) DO UPDATE SET\n"
            "    holder = excluded.holder, until_ms = excluded.until_ms\n"
            "WHERE lease.holder = excluded.holder OR lease.until_ms <= CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT)\n"
            "RETURNING until_ms AS until",
        .text[ENGINE_LITE] =
            "INSERT INTO lease (warehouse_id, name, holder, until_ms)\n"
            "VALUES ($1, $2, $3, now_ms() + CAST($4 AS BIGINT))\n"
            "ON CONFLICT (warehouse_id, name) DO UPDATE SET\n"
            "    holder = excluded.holder, until_ms = excluded.until_ms\n"
            "WHERE lease.holder = excluded.holder OR lease.until_ms <= now_ms()\n"
            "RETURNING until_ms AS until",
        .params = 4,
        .columns = 1,
        .column_names = lease_take_columns,
    },
    [STMT_LEASE_GIVE] = {
        .name = "lease_give",
        .text[ENGINE_PG] =
            "DELETE FROM lease WHERE warehouse_id = $1 AND name = $2 AND holder = $3 RETURNING name",
        .text[ENGINE_LITE] =
            "DELETE FROM lease WHERE warehouse_id = $1 AND name = $2 AND holder = $3 RETURNING name",
        .params = 3,
        .columns = 1,
        .column_names = lease_give_columns,
    },
    [STMT_LEASE_PRUNE] = {
        .name = "lease_prune",
        .text[ENGINE_PG] =
            "DELETE FROM lease\n"
            "WHERE warehouse_id = $1 AND until_ms <= CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT) AND name IN (\n"
            "    SELECT name FROM lease WHERE warehouse_id = $1 AND until_ms <= CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT) LIMIT $2)\n"
            "RETURNING name",
        .text[ENGINE_LITE] =
            "DELETE FROM lease\n"
            "WHERE warehouse_id = $1 AND until_ms <= now_ms() AND name IN (\n"
            "    SELECT name FROM lease WHERE warehouse_id = $1 AND until_ms <= now_ms() LIMIT $2)\n"
            "RETURNING name",
        .params = 2,
        .columns = 1,
        .column_names = lease_prune_columns,
    },
    [STMT_MARK_PAGE] = {
        .name = "mark_page",
        .text[ENGINE_PG] =
            "SELECT id, location, metadata_location, purge_ms AS at FROM object\n"
            "WHERE warehouse_id = $1 AND purge_ms IS NOT NULL AND (purge_ms, id) > ($2, $3)\n"
            "ORDER BY purge_ms, id LIMIT $4",
        .text[ENGINE_LITE] =
            "SELECT id, location, metadata_location, purge_ms AS at FROM object\n"
            "WHERE warehouse_id = $1 AND purge_ms IS NOT NULL AND (purge_ms, id) > ($2, $3)\n"
            "ORDER BY purge_ms, id LIMIT $4",
        .params = 4,
        .columns = 4,
        .column_names = mark_page_columns,
    },
    [STMT_MARK_DELETE] = {
        .name = "mark_delete",
        .text[ENGINE_PG] =
            "DELETE FROM object WHERE warehouse_id = $1 AND id = $2 AND purge_ms IS NOT NULL RETURNING id",
        .text[ENGINE_LITE] =
            "DELETE FROM object WHERE warehouse_id = $1 AND id = $2 AND purge_ms IS NOT NULL RETURNING id",
        .params = 2,
        .columns = 1,
        .column_names = mark_delete_columns,
    },
    [STMT_LOCATION_LIVE] = {
        .name = "location_live",
        .text[ENGINE_PG] =
            "WITH RECURSIVE up (path) AS (\n"
            "    SELECT CAST($2 AS TEXT)\n"
            "    UNION ALL\n"
            "    SELECT rtrim(rtrim(path, replace(path, '/', '')), '/') FROM up WHERE path <> ''\n"
            ")\n"
            "SELECT path FROM up\n"
            "WHERE (SELECT l.object_id FROM location l WHERE l.authority = $1 AND l.path = up.path) IS NOT NULL\n"
            "UNION ALL\n"
            "SELECT b.path FROM location b\n"
            "WHERE b.authority = $1 AND b.path > $3 AND b.path < $4 AND b.object_id IS NOT NULL\n"
            "LIMIT 1",
        .text[ENGINE_LITE] =
            "WITH RECURSIVE up (path) AS (\n"
            "    SELECT CAST($2 AS TEXT)\n"
            "    UNION ALL\n"
            "    SELECT rtrim(rtrim(path, replace(path, '/', '')), '/') FROM up WHERE path <> ''\n"
            ")\n"
            "SELECT path FROM up\n"
            "WHERE (SELECT l.object_id FROM location l WHERE l.authority = $1 AND l.path = up.path) IS NOT NULL\n"
            "UNION ALL\n"
            "SELECT b.path FROM location b\n"
            "WHERE b.authority = $1 AND b.path > $3 AND b.path < $4 AND b.object_id IS NOT NULL\n"
            "LIMIT 1",
        .params = 4,
        .columns = 1,
        .column_names = location_live_columns,
    },
    [STMT_OBJECT_BENEATH] = {
        .name = "object_beneath",
        .text[ENGINE_PG] =
            "SELECT warehouse_id AS warehouse, id, metadata_location FROM object\n"
            "WHERE (warehouse_id, id) > ($2, $3) AND namespace_id IS NOT NULL\n"
            "    AND metadata_location LIKE $1 ESCAPE '\\'\n"
            "ORDER BY warehouse_id, id LIMIT $4",
        .text[ENGINE_LITE] =
            "SELECT warehouse_id AS warehouse, id, metadata_location FROM object\n"
            "WHERE (warehouse_id, id) > ($2, $3) AND namespace_id IS NOT NULL\n"
            "    AND metadata_location LIKE $1 ESCAPE '\\'\n"
            "ORDER BY warehouse_id, id LIMIT $4",
        .params = 4,
        .columns = 3,
        .column_names = object_beneath_columns,
    },
    [STMT_SURVEY_PAGE] = {
        .name = "survey_page",
        .text[ENGINE_PG] =
            "SELECT o.warehouse_id AS warehouse, w.uuid, w.base, o.id, o.location, o.metadata_location,\n"
            "    o.replaced, s.replaced AS mark_replaced, s.location AS mark_location, s.sequence_number,\n"
            "    s.snapshots\n"
            "FROM object o\n"
            "JOIN warehouse w ON w.id = o.warehouse_id\n"
            "LEFT JOIN survey s ON s.warehouse_id = o.warehouse_id AND s.object_id = o.id\n"
            "WHERE (o.warehouse_id, o.id) > ($1, $2) AND o.namespace_id IS NOT NULL AND o.kind = 1\n"
            "    AND (s.object_id IS NULL OR s.metadata_location <> o.metadata_location\n"
            "        OR s.location <> o.location OR s.replaced <> o.replaced)\n"
            "ORDER BY o.warehouse_id, o.id LIMIT $3",
        .text[ENGINE_LITE] =
            "SELECT o.warehouse_id AS warehouse, w.uuid, w.base, o.id, o.location, o.metadata_location,\n"
            "    o.replaced, s.replaced AS mark_replaced, s.location AS mark_location, s.sequence_number,\n"
            "    s.snapshots\n"
            "FROM object o\n"
            "JOIN warehouse w ON w.id = o.warehouse_id\n"
            "LEFT JOIN survey s ON s.warehouse_id = o.warehouse_id AND s.object_id = o.id\n"
            "WHERE (o.warehouse_id, o.id) > ($1, $2) AND o.namespace_id IS NOT NULL AND o.kind = 1\n"
            "    AND (s.object_id IS NULL OR s.metadata_location <> o.metadata_location\n"
            "        OR s.location <> o.location OR s.replaced <> o.replaced)\n"
            "ORDER BY o.warehouse_id, o.id LIMIT $3",
        .params = 3,
        .columns = 11,
        .column_names = survey_page_columns,
    },
    [STMT_SURVEY_PUT] = {
        .name = "survey_put",
        .text[ENGINE_PG] =
            "INSERT INTO survey (warehouse_id, object_id, replaced, location, metadata_location,\n"
            "    sequence_number, snapshots)\n"
            "SELECT o.warehouse_id, o.id, CAST($3 AS BIGINT), CAST($4 AS TEXT), CAST($5 AS TEXT),\n"
            "    CAST($6 AS BIGINT), CAST($7 AS TEXT)\n"
            "FROM object o WHERE o.warehouse_id = $1 AND o.id = $2\n"
            "ON CONFLICT (warehouse_id, object_id) DO UPDATE SET\n"
            "    replaced = excluded.replaced, location = excluded.location,\n"
            "    metadata_location = excluded.metadata_location,\n"
            "    sequence_number = excluded.sequence_number, snapshots = excluded.snapshots",
        .text[ENGINE_LITE] =
            "INSERT INTO survey (warehouse_id, object_id, replaced, location, metadata_location,\n"
            "    sequence_number, snapshots)\n"
            "SELECT o.warehouse_id, o.id, CAST($3 AS BIGINT), CAST($4 AS TEXT), CAST($5 AS TEXT),\n"
            "    CAST($6 AS BIGINT), CAST($7 AS TEXT)\n"
            "FROM object o WHERE o.warehouse_id = $1 AND o.id = $2\n"
            "ON CONFLICT (warehouse_id, object_id) DO UPDATE SET\n"
            "    replaced = excluded.replaced, location = excluded.location,\n"
            "    metadata_location = excluded.metadata_location,\n"
            "    sequence_number = excluded.sequence_number, snapshots = excluded.snapshots",
        .params = 7,
        .columns = 0,
    },
    [STMT_FOREIGN_ADD] = {
        .name = "foreign_add",
        .text[ENGINE_PG] =
            "INSERT INTO foreign_folder (warehouse_id, object_id, authority, path)\n"
            "SELECT o.warehouse_id, o.id, CAST($3 AS TEXT), CAST($4 AS TEXT)\n"
            "FROM object o WHERE o.warehouse_id = $1 AND o.id = $2\n"
            "ON CONFLICT DO NOTHING",
        .text[ENGINE_LITE] =
            "INSERT INTO foreign_folder (warehouse_id, object_id, authority, path)\n"
            "SELECT o.warehouse_id, o.id, CAST($3 AS TEXT), CAST($4 AS TEXT)\n"
            "FROM object o WHERE o.warehouse_id = $1 AND o.id = $2\n"
            "ON CONFLICT DO NOTHING",
        .params = 4,
        .columns = 0,
    },
    [STMT_FOREIGN_REMOVE] = {
        .name = "foreign_remove",
        .text[ENGINE_PG] =
            "DELETE FROM foreign_folder\n"
            "WHERE warehouse_id = $1 AND object_id = $2 AND authority = $3 AND path = $4",
        .text[ENGINE_LITE] =
            "DELETE FROM foreign_folder\n"
            "WHERE warehouse_id = $1 AND object_id = $2 AND authority = $3 AND path = $4",
        .params = 4,
        .columns = 0,
    },
    [STMT_FOREIGN_LIST] = {
        .name = "foreign_list",
        .text[ENGINE_PG] =
            "SELECT authority, path FROM foreign_folder WHERE warehouse_id = $1 AND object_id = $2",
        .text[ENGINE_LITE] =
            "SELECT authority, path FROM foreign_folder WHERE warehouse_id = $1 AND object_id = $2",
        .params = 2,
        .columns = 2,
        .column_names = foreign_list_columns,
    },
    [STMT_FOREIGN_NEAR] = {
        .name = "foreign_near",
        .text[ENGINE_PG] =
            "WITH RECURSIVE up (path) AS (\n"
            "    SELECT CAST($2 AS TEXT)\n"
            "    UNION ALL\n"
            "    SELECT rtrim(rtrim(path, replace(path, '/', '')), '/') FROM up WHERE path <> ''\n"
            "), near (warehouse_id, object_id) AS (\n"
            "    SELECT a.warehouse_id, a.object_id FROM foreign_folder a\n"
            "    WHERE a.authority = $1 AND a.path IN (SELECT up.path FROM up)\n"
            "    UNION\n"
            "    SELECT b.warehouse_id, b.object_id FROM foreign_folder b\n"
            "    WHERE b.authority = $1 AND b.path > $3 AND b.path < $4\n"
            "    UNION\n"
            "    SELECT c.warehouse_id, c.object_id FROM foreign_folder c WHERE c.authority = ''\n"
            ")\n"
            "SELECT o.warehouse_id AS warehouse, w.uuid, w.base, o.id, o.location, o.metadata_location\n"
            "FROM near n\n"
            "JOIN object o ON o.warehouse_id = n.warehouse_id AND o.id = n.object_id\n"
            "JOIN warehouse w ON w.id = o.warehouse_id\n"
            "WHERE o.namespace_id IS NOT NULL AND (o.warehouse_id, o.id) > ($5, $6)\n"
            "ORDER BY o.warehouse_id, o.id LIMIT $7",
        .text[ENGINE_LITE] =
            "WITH RECURSIVE up (path) AS (\n"
            "    SELECT CAST($2 AS TEXT)\n"
            "    UNION ALL\n"
            "    SELECT rtrim(rtrim(path, replace(path, '/', '')), '/') FROM up WHERE path <> ''\n"
            "), near (warehouse_id, object_id) AS (\n"
            "    SELECT a.warehouse_id, a.object_id FROM foreign_folder a\n"
            "    WHERE a.authority = $1 AND a.path IN (SELECT up.path FROM up)\n"
            "    UNION\n"
            "    SELECT b.warehouse_id, b.object_id FROM foreign_folder b\n"
            "    WHERE b.authority = $1 AND b.path > $3 AND b.path < $4\n"
            "    UNION\n"
            "    SELECT c.warehouse_id, c.object_id FROM foreign_folder c WHERE c.authority = ''\n"
            ")\n"
            "SELECT o.warehouse_id AS warehouse, w.uuid, w.base, o.id, o.location, o.metadata_location\n"
            "FROM near n\n"
            "JOIN object o ON o.warehouse_id = n.warehouse_id AND o.id = n.object_id\n"
            "JOIN warehouse w ON w.id = o.warehouse_id\n"
            "WHERE o.namespace_id IS NOT NULL AND (o.warehouse_id, o.id) > ($5, $6)\n"
            "ORDER BY o.warehouse_id, o.id LIMIT $7",
        .params = 7,
        .columns = 6,
        .column_names = foreign_near_columns,
    },
    [STMT_SECRET_GET] = {
        .name = "secret_get",
        .text[ENGINE_PG] =
            "SELECT sealed FROM secret WHERE warehouse_id = $1 AND name = $2",
        .text[ENGINE_LITE] =
            "SELECT sealed FROM secret WHERE warehouse_id = $1 AND name = $2",
        .params = 2,
        .columns = 1,
        .column_names = secret_get_columns,
    },
    [STMT_SECRET_PUT] = {
        .name = "secret_put",
        .text[ENGINE_PG] =
            "INSERT INTO secret (warehouse_id, name, sealed) VALUES ($1, $2, $3)\n"
            "ON CONFLICT (warehouse_id, name) DO UPDATE SET sealed = excluded.sealed",
        .text[ENGINE_LITE] =
            "INSERT INTO secret (warehouse_id, name, sealed) VALUES ($1, $2, $3)\n"
            "ON CONFLICT (warehouse_id, name) DO UPDATE SET sealed = excluded.sealed",
        .params = 3,
        .columns = 0,
    },
    [STMT_SECRET_SWAP] = {
        .name = "secret_swap",
        .text[ENGINE_PG] =
            "UPDATE secret SET sealed = $4 WHERE warehouse_id = $1 AND name = $2 AND sealed = $3 RETURNING name",
        .text[ENGINE_LITE] =
            "UPDATE secret SET sealed = $4 WHERE warehouse_id = $1 AND name = $2 AND sealed = $3 RETURNING name",
        .params = 4,
        .columns = 1,
        .column_names = secret_swap_columns,
    },
    [STMT_SECRET_DELETE] = {
        .name = "secret_delete",
        .text[ENGINE_PG] =
            "DELETE FROM secret WHERE warehouse_id = $1 AND name = $2 RETURNING name",
        .text[ENGINE_LITE] =
            "DELETE FROM secret WHERE warehouse_id = $1 AND name = $2 RETURNING name",
        .params = 2,
        .columns = 1,
        .column_names = secret_delete_columns,
    },
    [STMT_SECRET_PAGE] = {
        .name = "secret_page",
        .text[ENGINE_PG] =
            "SELECT s.warehouse_id AS warehouse, coalesce(w.name, '') AS warehouse_name, s.name, s.sealed\n"
            "FROM secret s LEFT JOIN warehouse w ON w.id = s.warehouse_id\n"
            "WHERE (s.warehouse_id, s.name) > ($1, $2)\n"
            "ORDER BY s.warehouse_id, s.name LIMIT $3",
        .text[ENGINE_LITE] =
            "SELECT s.warehouse_id AS warehouse, coalesce(w.name, '') AS warehouse_name, s.name, s.sealed\n"
            "FROM secret s LEFT JOIN warehouse w ON w.id = s.warehouse_id\n"
            "WHERE (s.warehouse_id, s.name) > ($1, $2)\n"
            "ORDER BY s.warehouse_id, s.name LIMIT $3",
        .params = 3,
        .columns = 4,
        .column_names = secret_page_columns,
    },
    [STMT_OBJECT_TAILS] = {
        .name = "object_tails",
        .text[ENGINE_PG] =
            "SELECT substr('                                                ' || metadata_location, length(metadata_location) + 1) AS tail FROM object\n"
            "WHERE substr('                                                ' || metadata_location, length(metadata_location) + 1) IN\n"
            "    ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
        .text[ENGINE_LITE] =
            "SELECT substr('                                                ' || metadata_location, length(metadata_location) + 1) AS tail FROM object\n"
            "WHERE substr('                                                ' || metadata_location, length(metadata_location) + 1) IN\n"
            "    ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)",
        .params = 16,
        .columns = 1,
        .column_names = object_tails_columns,
    },
    [STMT_CHANGE_KINDS] = {
        .name = "change_kinds",
        .text[ENGINE_PG] =
            "SELECT c.token, c.kind, CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT) - c.at_ms AS age, c.object_id AS object\n"
            "FROM (VALUES (CAST($2 AS TEXT)), ($3), ($4), ($5), ($6), ($7), ($8), ($9), ($10), ($11), ($12), ($13),\n"
            "    ($14), ($15), ($16), ($17)) AS k (token)\n"
            "CROSS JOIN LATERAL (\n"
            "    SELECT x.token, x.kind, x.at_ms, x.object_id FROM change x\n"
            "    WHERE x.warehouse_id = $1 AND x.token = k.token LIMIT 1) c",
        .text[ENGINE_LITE] =
            "SELECT token, kind, now_ms() - at_ms AS age, object_id AS object FROM change\n"
            "WHERE warehouse_id = $1 AND token IN\n"
            "    ($2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17)",
        .params = 17,
        .columns = 4,
        .column_names = change_kinds_columns,
    },
    [STMT_CHANGE_OLDEST] = {
        .name = "change_oldest",
        .text[ENGINE_PG] =
            "SELECT min(at_ms) AS at FROM change WHERE warehouse_id = $1",
        .text[ENGINE_LITE] =
            "SELECT min(at_ms) AS at FROM change WHERE warehouse_id = $1",
        .params = 1,
        .columns = 1,
        .column_names = change_oldest_columns,
    },
    [STMT_CHANGE_FORGO] = {
        .name = "change_forgo",
        .text[ENGINE_PG] =
            "INSERT INTO change (warehouse_id, token, object_id, kind, at_ms)\n"
            "VALUES ($1, $2, $3, 'forgone', CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT))\n"
            "ON CONFLICT (warehouse_id, token) DO NOTHING\n"
            "RETURNING token",
        .text[ENGINE_LITE] =
            "INSERT INTO change (warehouse_id, token, object_id, kind, at_ms)\n"
            "VALUES ($1, $2, $3, 'forgone', now_ms())\n"
            "ON CONFLICT (warehouse_id, token) DO NOTHING\n"
            "RETURNING token",
        .params = 3,
        .columns = 1,
        .column_names = change_forgo_columns,
    },
    [STMT_OBJECT_AFTER] = {
        .name = "object_after",
        .text[ENGINE_PG] =
            "SELECT id, location, metadata_location FROM object\n"
            "WHERE warehouse_id = $1 AND id > $2 AND namespace_id IS NOT NULL\n"
            "ORDER BY id LIMIT $3",
        .text[ENGINE_LITE] =
            "SELECT id, location, metadata_location FROM object\n"
            "WHERE warehouse_id = $1 AND id > $2 AND namespace_id IS NOT NULL\n"
            "ORDER BY id LIMIT $3",
        .params = 3,
        .columns = 3,
        .column_names = object_after_columns,
    },
    [STMT_OBJECT_ORIGIN] = {
        .name = "object_origin",
        .text[ENGINE_PG] =
            "SELECT metadata_location, replaced FROM object\n"
            "WHERE warehouse_id = $1 AND id = $2 AND namespace_id IS NOT NULL",
        .text[ENGINE_LITE] =
            "SELECT metadata_location, replaced FROM object\n"
            "WHERE warehouse_id = $1 AND id = $2 AND namespace_id IS NOT NULL",
        .params = 2,
        .columns = 2,
        .column_names = object_origin_columns,
    },
    [STMT_OBJECT_OF_UUID] = {
        .name = "object_of_uuid",
        .text[ENGINE_PG] =
            "SELECT id FROM object WHERE warehouse_id = $1 AND uuid = $2",
        .text[ENGINE_LITE] =
            "SELECT id FROM object WHERE warehouse_id = $1 AND uuid = $2",
        .params = 2,
        .columns = 1,
        .column_names = object_of_uuid_columns,
    },
    [STMT_NS_AFTER] = {
        .name = "ns_after",
        .text[ENGINE_PG] =
            "SELECT path, properties FROM namespace WHERE warehouse_id = $1 AND path > $2\n"
            "ORDER BY path LIMIT $3",
        .text[ENGINE_LITE] =
            "SELECT path, properties FROM namespace WHERE warehouse_id = $1 AND path > $2\n"
            "ORDER BY path LIMIT $3",
        .params = 3,
        .columns = 2,
        .column_names = ns_after_columns,
    },
    [STMT_JOB_GET] = {
        .name = "job_get",
        .text[ENGINE_PG] =
            "SELECT due_ms - CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT) AS due, position, CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT) AS now FROM job\n"
            "WHERE warehouse_id = $1 AND name = $2",
        .text[ENGINE_LITE] =
            "SELECT due_ms - now_ms() AS due, position, now_ms() AS now FROM job\n"
            "WHERE warehouse_id = $1 AND name = $2",
        .params = 2,
        .columns = 3,
        .column_names = job_get_columns,
    },
    [STMT_JOB_PLAN] = {
        .name = "job_plan",
        .text[ENGINE_PG] =
            "INSERT INTO job (warehouse_id, name, due_ms, position)\n"
            "VALUES ($1, $2, CAST(date_part('epoch', statement_timestamp()) * 1000 AS BIGINT) + CAST($3 AS BIGINT), $4)\n"
            "ON CONFLICT (warehouse_id, name) DO UPDATE SET\n"
            "    due_ms = excluded.due_ms, position = excluded.position\n"
            "RETURNING due_ms AS due",
        .text[ENGINE_LITE] =
            "INSERT INTO job (warehouse_id, name, due_ms, position)\n"
            "VALUES ($1, $2, now_ms() + CAST($3 AS BIGINT), $4)\n"
            "ON CONFLICT (warehouse_id, name) DO UPDATE SET\n"
            "    due_ms = excluded.due_ms, position = excluded.position\n"
            "RETURNING due_ms AS due",
        .params = 4,
        .columns = 1,
        .column_names = job_plan_columns,
    },
    [STMT_JOB_NOTE] = {
        .name = "job_note",
        .text[ENGINE_PG] =
            "UPDATE job SET position = $3 WHERE warehouse_id = $1 AND name = $2 RETURNING due_ms AS due",
        .text[ENGINE_LITE] =
            "UPDATE job SET position = $3 WHERE warehouse_id = $1 AND name = $2 RETURNING due_ms AS due",
        .params = 3,
        .columns = 1,
        .column_names = job_note_columns,
    },
    [STMT_LOOKUP] = {
        .name = "lookup",
        .text[ENGINE_PG] =
            "SELECT k.i, n.id AS namespace, n.version, n.path,\n"
            "    CASE WHEN o.id IS NULL THEN n.properties END AS properties,\n"
            "    o.id, o.kind, o.uuid, o.location, o.metadata_location\n"
            "FROM unnest(CAST($1 AS BIGINT[]), CAST($2 AS TEXT[]), CAST($3 AS TEXT[]))\n"
            "    WITH ORDINALITY AS k (warehouse_id, path, name, i)\n"
            "CROSS JOIN LATERAL (\n"
            "    SELECT x.id, x.version, x.path, x.properties FROM namespace x\n"
            "    WHERE x.warehouse_id = k.warehouse_id AND x.path = k.path LIMIT 1) n\n"
            "LEFT JOIN LATERAL (\n"
            "    SELECT y.id, y.kind, y.uuid, y.location, y.metadata_location FROM object y\n"
            "    WHERE y.warehouse_id = k.warehouse_id AND y.namespace_id = n.id AND y.name = k.name LIMIT 1) o\n"
            "    ON TRUE",
        .params = 3,
        .columns = 10,
        .column_names = lookup_columns,
    },
};

static const char *const schema_1[] = {
        "CREATE TABLE warehouse (\n"
        "    id BIGINT NOT NULL PRIMARY KEY,\n"
        "    name TEXT COLLATE \"C\" NOT NULL UNIQUE,\n"
        "    uuid TEXT COLLATE \"C\" NOT NULL UNIQUE,\n"
        "    base TEXT NOT NULL\n"
        ")",
        "CREATE TABLE namespace (\n"
        "    warehouse_id BIGINT NOT NULL REFERENCES warehouse (id) ON DELETE RESTRICT,\n"
        "    id BIGINT NOT NULL,\n"
        "    parent_id BIGINT,\n"
        "    name TEXT COLLATE \"C\" NOT NULL,\n"
        "    path TEXT COLLATE \"C\" NOT NULL,\n"
        "    version BIGINT NOT NULL,\n"
        "    properties TEXT NOT NULL,\n"
        "    PRIMARY KEY (warehouse_id, id),\n"
        "    UNIQUE (warehouse_id, path),\n"
        "    FOREIGN KEY (warehouse_id, parent_id) REFERENCES namespace (warehouse_id, id) ON DELETE RESTRICT\n"
        ")",
        "CREATE INDEX namespace_child ON namespace (warehouse_id, parent_id, name)",
        "CREATE TABLE object (\n"
        "    warehouse_id BIGINT NOT NULL,\n"
        "    id BIGINT NOT NULL,\n"
        "    namespace_id BIGINT,\n"
        "    name TEXT COLLATE \"C\" NOT NULL,\n"
        "    kind BIGINT NOT NULL,\n"
        "    uuid TEXT COLLATE \"C\" NOT NULL,\n"
        "    location TEXT COLLATE \"C\" NOT NULL,\n"
        "    metadata_location TEXT COLLATE \"C\" NOT NULL,\n"
        "    purge_ms BIGINT,\n"
        "    PRIMARY KEY (warehouse_id, id),\n"
        "    UNIQUE (warehouse_id, namespace_id, name),\n"
        "    FOREIGN KEY (warehouse_id, namespace_id) REFERENCES namespace (warehouse_id, id)\n"
        "        ON DELETE RESTRICT\n"
        ")",
        "CREATE INDEX object_kind ON object (warehouse_id, namespace_id, kind, name)",
        "CREATE UNIQUE INDEX object_uuid ON object (warehouse_id, uuid) WHERE purge_ms IS NULL",
        "CREATE INDEX object_purge ON object (warehouse_id, purge_ms) WHERE purge_ms IS NOT NULL",
        "CREATE TABLE change (\n"
        "    warehouse_id BIGINT NOT NULL,\n"
        "    token TEXT COLLATE \"C\" NOT NULL,\n"
        "    object_id BIGINT NOT NULL,\n"
        "    kind TEXT COLLATE \"C\" NOT NULL,\n"
        "    metadata_location TEXT COLLATE \"C\",\n"
        "    digest TEXT COLLATE \"C\",\n"
        "    principal TEXT,\n"
        "    request_id TEXT,\n"
        "    at_ms BIGINT NOT NULL,\n"
        "    PRIMARY KEY (warehouse_id, token)\n"
        ")",
        "CREATE INDEX change_digest ON change (warehouse_id, object_id, digest, at_ms)\n"
        "    WHERE digest IS NOT NULL",
        "CREATE INDEX change_time ON change (warehouse_id, at_ms)",
        "CREATE TABLE location (\n"
        "    authority TEXT COLLATE \"C\" NOT NULL,\n"
        "    path TEXT COLLATE \"C\" NOT NULL,\n"
        "    parent_path TEXT COLLATE \"C\",\n"
        "    warehouse_id BIGINT NOT NULL,\n"
        "    object_id BIGINT,\n"
        "    PRIMARY KEY (authority, path),\n"
        "    FOREIGN KEY (authority, parent_path) REFERENCES location (authority, path) ON DELETE RESTRICT\n"
        ")",
        "CREATE INDEX location_child ON location (authority, parent_path)",
        "CREATE UNIQUE INDEX location_object ON location (warehouse_id, object_id)\n"
        "    WHERE object_id IS NOT NULL",
        "CREATE TABLE idempotency (\n"
        "    warehouse_id BIGINT NOT NULL,\n"
        "    principal TEXT COLLATE \"C\" NOT NULL,\n"
        "    request_key TEXT COLLATE \"C\" NOT NULL,\n"
        "    digest TEXT COLLATE \"C\" NOT NULL,\n"
        "    object_id BIGINT,\n"
        "    status BIGINT NOT NULL,\n"
        "    answer TEXT,\n"
        "    expires_ms BIGINT NOT NULL,\n"
        "    PRIMARY KEY (warehouse_id, principal, request_key)\n"
        ")",
        "CREATE INDEX idempotency_expiry ON idempotency (warehouse_id, expires_ms)",
        "CREATE TABLE lease (\n"
        "    warehouse_id BIGINT NOT NULL,\n"
        "    name TEXT COLLATE \"C\" NOT NULL,\n"
        "    holder TEXT COLLATE \"C\" NOT NULL,\n"
        "    until_ms BIGINT NOT NULL,\n"
        "    PRIMARY KEY (warehouse_id, name)\n"
        ")",
        "CREATE TABLE secret (\n"
        "    warehouse_id BIGINT NOT NULL,\n"
        "    name TEXT COLLATE \"C\" NOT NULL,\n"
        "    sealed TEXT NOT NULL,\n"
        "    PRIMARY KEY (warehouse_id, name)\n"
        ")",
        NULL,
};

static const char *const schema_2[] = {
        "DELETE FROM object WHERE purge_ms IS NOT NULL AND EXISTS (\n"
        "    SELECT 1 FROM object o\n"
        "    WHERE o.warehouse_id = object.warehouse_id AND o.uuid = object.uuid AND o.id <> object.id\n"
        "        AND (o.purge_ms IS NULL OR o.id > object.id))",
        "DROP INDEX object_uuid",
        "CREATE UNIQUE INDEX object_uuid ON object (warehouse_id, uuid)",
        NULL,
};

static const char *const schema_3[] = {
        "CREATE TABLE job (\n"
        "    warehouse_id BIGINT NOT NULL,\n"
        "    name TEXT COLLATE \"C\" NOT NULL,\n"
        "    due_ms BIGINT NOT NULL,\n"
        "    position TEXT COLLATE \"C\",\n"
        "    PRIMARY KEY (warehouse_id, name)\n"
        ")",
        NULL,
};

static const char *const schema_4[] = {
        "ALTER TABLE warehouse ADD COLUMN profile TEXT NOT NULL DEFAULT ''",
        "ALTER TABLE warehouse ADD COLUMN active BIGINT NOT NULL DEFAULT 1",
        "ALTER TABLE warehouse ADD COLUMN version BIGINT NOT NULL DEFAULT 1",
        NULL,
};

static const char *const schema_5[] = {
        "CREATE INDEX change_request ON change (warehouse_id, digest, at_ms) WHERE digest IS NOT NULL",
        NULL,
};

static const char *const schema_6[] = {
        "ALTER TABLE object ADD COLUMN replaced BIGINT NOT NULL DEFAULT 0",
        "CREATE TABLE survey (\n"
        "    warehouse_id BIGINT NOT NULL,\n"
        "    object_id BIGINT NOT NULL,\n"
        "    replaced BIGINT NOT NULL,\n"
        "    location TEXT COLLATE \"C\" NOT NULL,\n"
        "    metadata_location TEXT COLLATE \"C\" NOT NULL,\n"
        "    sequence_number BIGINT NOT NULL,\n"
        "    snapshots TEXT COLLATE \"C\" NOT NULL,\n"
        "    PRIMARY KEY (warehouse_id, object_id),\n"
        "    FOREIGN KEY (warehouse_id, object_id) REFERENCES object (warehouse_id, id) ON DELETE CASCADE\n"
        ")",
        "CREATE TABLE foreign_folder (\n"
        "    warehouse_id BIGINT NOT NULL,\n"
        "    object_id BIGINT NOT NULL,\n"
        "    authority TEXT COLLATE \"C\" NOT NULL,\n"
        "    path TEXT COLLATE \"C\" NOT NULL,\n"
        "    PRIMARY KEY (warehouse_id, object_id, authority, path),\n"
        "    FOREIGN KEY (warehouse_id, object_id) REFERENCES object (warehouse_id, id) ON DELETE CASCADE\n"
        ")",
        "CREATE INDEX foreign_folder_place ON foreign_folder (authority, path)",
        NULL,
};

static const char *const schema_7[] = {
        "DROP INDEX object_kind",
        "CREATE INDEX object_kind ON object (warehouse_id, kind, namespace_id, name)",
        "DROP INDEX object_purge",
        "CREATE INDEX object_purge ON object (warehouse_id, purge_ms, id) WHERE purge_ms IS NOT NULL",
        NULL,
};

static const char *const schema_8[] = {
        "DELETE FROM survey",
        NULL,
};

const struct schema_file schema_files[] = {
    {1, "0001_begin", schema_1},
    {2, "0002_purge", schema_2},
    {3, "0003_job", schema_3},
    {4, "0004_warehouse", schema_4},
    {5, "0005_digest", schema_5},
    {6, "0006_survey", schema_6},
    {7, "0007_index", schema_7},
    {8, "0008_spelling", schema_8},
};
const size_t schema_files_n = sizeof(schema_files) / sizeof(schema_files[0]);
