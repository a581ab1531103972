/* Written by gen.py from statements.sql and schema/. */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum stmt {
    STMT_PING, /* - */
    STMT_BEGIN, /* - */
    STMT_COMMIT, /* - */
    STMT_ROLLBACK, /* - */
    STMT_MIGRATE_LOCK, /* - */
    STMT_SCHEMA_PRESENT, /* - */
    STMT_SCHEMA_CREATE, /* - */
    STMT_SCHEMA_GET, /* - */
    STMT_SCHEMA_ADD, /* version, applied_ms */
    STMT_WAREHOUSE_LOCK, /* - */
    STMT_WAREHOUSE_ENSURE, /* id, name, uuid, base */
    STMT_WAREHOUSE_FIND, /* named, uuid */
    STMT_WAREHOUSE_PAGE, /* after, limit */
    STMT_WAREHOUSE_INSERT, /* id, name, uuid, base, profile, active, version */
    STMT_WAREHOUSE_SET, /* id, old, version, name, base, profile, active */
    STMT_WAREHOUSE_DELETE, /* id */
    STMT_WAREHOUSE_OBJECTS, /* id */
    STMT_WAREHOUSE_FORGET_CHANGES, /* id */
    STMT_WAREHOUSE_FORGET_KEYS, /* id */
    STMT_WAREHOUSE_FORGET_LEASES, /* id */
    STMT_WAREHOUSE_FORGET_JOBS, /* id */
    STMT_WAREHOUSE_FORGET_SECRETS, /* id */
    STMT_NS_GET, /* warehouse, path */
    STMT_NS_INSERT, /* warehouse, id, parent, name, path, properties */
    STMT_NS_SET, /* warehouse, id, version, properties */
    STMT_NS_CONTENT, /* warehouse, id */
    STMT_NS_DELETE, /* warehouse, id */
    STMT_NS_PAGE, /* warehouse, parent_path, after, limit */
    STMT_NS_PAGE_ROOT, /* warehouse, after, limit */
    STMT_OBJECT_GET, /* warehouse, path, name */
    STMT_OBJECT_ROOM, /* warehouse, path, name */
    STMT_OBJECT_BY_ID, /* warehouse, id */
    STMT_OBJECT_INSERT, /* warehouse, id, path, name, kind, uuid, location, metadata_location, replaced */
    STMT_OBJECT_INSERT_ONE, /* warehouse, id, namespace, name, kind, uuid, location, metadata_location, authority, place, folder, upwards, low, high, token, relative, digest, principal, request_id, at_ms, key, key_digest, status, answer, lifetime_ms */
    STMT_OBJECT_INSERT_MANY, /* warehouses, ids, namespaces, names, kinds, uuids, locations, metadata_locations, authorities, places, folders, tokens, digests, principals, request_ids, times, keys, key_digests, statuses, answers, lifetimes, way_authorities, ways */
    STMT_OBJECT_WHY, /* warehouse, path, name, uuid */
    STMT_OBJECT_SWAP_ONE, /* warehouse, id, old, new, token, digest, principal, request_id, at_ms */
    STMT_OBJECT_SWAP_KEYED, /* warehouse, id, old, new, token, digest, principal, request_id, at_ms, key, status, lifetime_ms */
    STMT_OBJECT_HOLD, /* warehouse, ids */
    STMT_OBJECT_SWAP_MANY, /* warehouses, ids, olds, news, tokens, digests, principals, request_ids, times, keys, statuses, lifetimes */
    STMT_OBJECT_SWAP, /* warehouse, id, old, new, location */
    STMT_OBJECT_REPLACE, /* warehouse, id, namespace, name, uuid, location, metadata_location */
    STMT_OBJECT_RENAME, /* warehouse, id, namespace, name, to_namespace, to_name */
    STMT_OBJECT_DELETE, /* warehouse, id, namespace, name */
    STMT_OBJECT_PURGE, /* warehouse, id, namespace, name, at_ms */
    STMT_OBJECT_PAGE, /* warehouse, path, kind, after, limit */
    STMT_LOCATION_INSERT, /* authority, path, parent, warehouse, object */
    STMT_LOCATION_ABOVE, /* authority, path */
    STMT_LOCATION_CLASH, /* authority, path, low, high */
    STMT_LOCATION_FREE, /* warehouse, object */
    STMT_LOCATION_HOLD, /* authority, path */
    STMT_LOCATION_PRUNE, /* authority, path */
    STMT_CHANGE_INSERT, /* warehouse, token, object, kind, metadata_location, digest, principal, request_id, at_ms */
    STMT_CHANGE_GET, /* warehouse, token */
    STMT_CHANGE_BY_DIGEST, /* warehouse, digest */
    STMT_CHANGE_DETACH, /* warehouse, object, location */
    STMT_CHANGE_PRUNE, /* warehouse, keep_ms, limit */
    STMT_IDEM_GET, /* warehouse, principal, key */
    STMT_IDEM_PUT, /* warehouse, principal, key, digest, object, status, answer, lifetime_ms */
    STMT_IDEM_PRUNE, /* warehouse, limit */
    STMT_LEASE_TAKE, /* warehouse, name, holder, for_ms */
    STMT_LEASE_GIVE, /* warehouse, name, holder */
    STMT_LEASE_PRUNE, /* warehouse, limit */
    STMT_MARK_PAGE, /* warehouse, after_ms, after, limit */
    STMT_MARK_DELETE, /* warehouse, id */
    STMT_LOCATION_LIVE, /* authority, path, low, high */
    STMT_OBJECT_BENEATH, /* pattern, after_warehouse, after, limit */
    STMT_SURVEY_PAGE, /* after_warehouse, after, limit */
    STMT_SURVEY_PUT, /* warehouse, object, replaced, location, metadata_location, sequence_number, snapshots */
    STMT_FOREIGN_ADD, /* warehouse, object, authority, path */
    STMT_FOREIGN_REMOVE, /* warehouse, object, authority, path */
    STMT_FOREIGN_LIST, /* warehouse, object */
    STMT_FOREIGN_NEAR, /* authority, path, low, high, after_warehouse, after, limit */
    STMT_SECRET_GET, /* warehouse, name */
    STMT_SECRET_PUT, /* warehouse, name, sealed */
    STMT_SECRET_SWAP, /* warehouse, name, old, new */
    STMT_SECRET_DELETE, /* warehouse, name */
    STMT_SECRET_PAGE, /* warehouse, name, limit */
    STMT_OBJECT_TAILS, /* tail1, tail2, tail3, tail4, tail5, tail6, tail7, tail8, tail9, tail10, tail11, tail12, tail13, tail14, tail15, tail16 */
    STMT_CHANGE_KINDS, /* warehouse, token1, token2, token3, token4, token5, token6, token7, token8, token9, token10, token11, token12, token13, token14, token15, token16 */
    STMT_CHANGE_OLDEST, /* warehouse */
    STMT_CHANGE_FORGO, /* warehouse, token, object */
    STMT_OBJECT_AFTER, /* warehouse, after, limit */
    STMT_OBJECT_ORIGIN, /* warehouse, id */
    STMT_OBJECT_OF_UUID, /* warehouse, uuid */
    STMT_NS_AFTER, /* warehouse, after, limit */
    STMT_JOB_GET, /* warehouse, name */
    STMT_JOB_PLAN, /* warehouse, name, in_ms, position */
    STMT_JOB_NOTE, /* warehouse, name, position */
    STMT_LOOKUP, /* warehouses, paths, names */
    STMT_COUNT
};

/* The columns of each statement. */
enum { PING_ONE };
enum { MIGRATE_LOCK_LOCKED };
enum { SCHEMA_PRESENT_PRESENT };
enum { SCHEMA_GET_VERSION };
enum { WAREHOUSE_LOCK_LOCKED };
enum { WAREHOUSE_ENSURE_ID };
enum { WAREHOUSE_FIND_ID, WAREHOUSE_FIND_NAME, WAREHOUSE_FIND_UUID, WAREHOUSE_FIND_BASE, WAREHOUSE_FIND_PROFILE, WAREHOUSE_FIND_ACTIVE, WAREHOUSE_FIND_VERSION };
enum { WAREHOUSE_PAGE_ID, WAREHOUSE_PAGE_NAME, WAREHOUSE_PAGE_UUID, WAREHOUSE_PAGE_BASE, WAREHOUSE_PAGE_PROFILE, WAREHOUSE_PAGE_ACTIVE, WAREHOUSE_PAGE_VERSION };
enum { WAREHOUSE_INSERT_ID };
enum { WAREHOUSE_SET_ID };
enum { WAREHOUSE_DELETE_ID };
enum { WAREHOUSE_OBJECTS_NAMESPACES, WAREHOUSE_OBJECTS_MARKS };
enum { NS_GET_ID, NS_GET_VERSION, NS_GET_PATH, NS_GET_PROPERTIES };
enum { NS_INSERT_ID };
enum { NS_SET_VERSION };
enum { NS_CONTENT_TABLES, NS_CONTENT_VIEWS, NS_CONTENT_NAMESPACES };
enum { NS_DELETE_ID };
enum { NS_PAGE_NAME };
enum { NS_PAGE_ROOT_NAME };
enum { OBJECT_GET_NAMESPACE, OBJECT_GET_ID, OBJECT_GET_KIND, OBJECT_GET_UUID, OBJECT_GET_LOCATION, OBJECT_GET_METADATA_LOCATION };
enum { OBJECT_ROOM_ID, OBJECT_ROOM_VERSION, OBJECT_ROOM_PATH, OBJECT_ROOM_PROPERTIES, OBJECT_ROOM_KIND };
enum { OBJECT_BY_ID_LOCATION, OBJECT_BY_ID_METADATA_LOCATION };
enum { OBJECT_INSERT_ID };
enum { OBJECT_INSERT_ONE_TOKEN };
enum { OBJECT_INSERT_MANY_TOKEN };
enum { OBJECT_WHY_NAMESPACE, OBJECT_WHY_KIND, OBJECT_WHY_TWIN };
enum { OBJECT_SWAP_ONE_TOKEN };
enum { OBJECT_SWAP_KEYED_TOKEN };
enum { OBJECT_HOLD_ID, OBJECT_HOLD_METADATA_LOCATION };
enum { OBJECT_SWAP_MANY_TOKEN };
enum { OBJECT_SWAP_ID };
enum { OBJECT_REPLACE_ID };
enum { OBJECT_RENAME_ID };
enum { OBJECT_DELETE_METADATA_LOCATION, OBJECT_DELETE_LOCATION };
enum { OBJECT_PURGE_METADATA_LOCATION, OBJECT_PURGE_LOCATION };
enum { OBJECT_PAGE_NAME };
enum { LOCATION_INSERT_PATH };
enum { LOCATION_ABOVE_PATH };
enum { LOCATION_CLASH_PATH };
enum { LOCATION_FREE_AUTHORITY, LOCATION_FREE_PARENT };
enum { LOCATION_HOLD_ONE };
enum { LOCATION_PRUNE_PARENT };
enum { CHANGE_INSERT_TOKEN };
enum { CHANGE_GET_KIND };
enum { CHANGE_BY_DIGEST_METADATA_LOCATION, CHANGE_BY_DIGEST_LOCATION, CHANGE_BY_DIGEST_CURRENT };
enum { CHANGE_PRUNE_TOKEN };
enum { IDEM_GET_DIGEST, IDEM_GET_OBJECT, IDEM_GET_STATUS, IDEM_GET_ANSWER };
enum { IDEM_PUT_KEY };
enum { IDEM_PRUNE_KEY };
enum { LEASE_TAKE_UNTIL };
enum { LEASE_GIVE_NAME };
enum { LEASE_PRUNE_NAME };
enum { MARK_PAGE_ID, MARK_PAGE_LOCATION, MARK_PAGE_METADATA_LOCATION, MARK_PAGE_AT };
enum { MARK_DELETE_ID };
enum { LOCATION_LIVE_PATH };
enum { OBJECT_BENEATH_WAREHOUSE, OBJECT_BENEATH_ID, OBJECT_BENEATH_METADATA_LOCATION };
enum { SURVEY_PAGE_WAREHOUSE, SURVEY_PAGE_UUID, SURVEY_PAGE_BASE, SURVEY_PAGE_ID, SURVEY_PAGE_LOCATION, SURVEY_PAGE_METADATA_LOCATION, SURVEY_PAGE_REPLACED, SURVEY_PAGE_MARK_REPLACED, SURVEY_PAGE_MARK_LOCATION, SURVEY_PAGE_SEQUENCE_NUMBER, SURVEY_PAGE_SNAPSHOTS };
enum { FOREIGN_LIST_AUTHORITY, FOREIGN_LIST_PATH };
enum { FOREIGN_NEAR_WAREHOUSE, FOREIGN_NEAR_UUID, FOREIGN_NEAR_BASE, FOREIGN_NEAR_ID, FOREIGN_NEAR_LOCATION, FOREIGN_NEAR_METADATA_LOCATION };
enum { SECRET_GET_SEALED };
enum { SECRET_SWAP_NAME };
enum { SECRET_DELETE_NAME };
enum { SECRET_PAGE_WAREHOUSE, SECRET_PAGE_WAREHOUSE_NAME, SECRET_PAGE_NAME, SECRET_PAGE_SEALED };
enum { OBJECT_TAILS_TAIL };
enum { CHANGE_KINDS_TOKEN, CHANGE_KINDS_KIND, CHANGE_KINDS_AGE, CHANGE_KINDS_OBJECT };
enum { CHANGE_OLDEST_AT };
enum { CHANGE_FORGO_TOKEN };
enum { OBJECT_AFTER_ID, OBJECT_AFTER_LOCATION, OBJECT_AFTER_METADATA_LOCATION };
enum { OBJECT_ORIGIN_METADATA_LOCATION, OBJECT_ORIGIN_REPLACED };
enum { OBJECT_OF_UUID_ID };
enum { NS_AFTER_PATH, NS_AFTER_PROPERTIES };
enum { JOB_GET_DUE, JOB_GET_POSITION, JOB_GET_NOW };
enum { JOB_PLAN_DUE };
enum { JOB_NOTE_DUE };
enum { LOOKUP_I, LOOKUP_NAMESPACE, LOOKUP_VERSION, LOOKUP_PATH, LOOKUP_PROPERTIES, LOOKUP_ID, LOOKUP_KIND, LOOKUP_UUID, LOOKUP_LOCATION, LOOKUP_METADATA_LOCATION };

enum { STMT_PARAMS_MAX = 25 };

enum engine { ENGINE_PG, ENGINE_LITE, ENGINE_COUNT };

struct stmt_info {
    const char *name;
    const char *text[ENGINE_COUNT]; /* NULL: not on this engine */
    unsigned params, columns;
    const char *const *column_names;
};
extern const struct stmt_info stmt_info[STMT_COUNT];

/* Migrations in order; each a list of statements that NULL ends. */
struct schema_file {
    int64_t version;
    const char *name;
    const char *const *statements;
};
extern const struct schema_file schema_files[];
extern const size_t schema_files_n;
