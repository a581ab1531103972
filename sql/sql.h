/* Rows of the catalog in PostgreSQL or SQLite. Knows tables, namespaces and locations as rows,
 * nothing of Iceberg. Every unit of work is one function; none holds a transaction open after it
 * returns.
 *
 * Kinds of error, all functions: ERR_UNAVAILABLE (certainly nothing was done: the database is away,
 * or no connection was free), ERR_DB_UNIQUE (name or location taken), ERR_DB_REFERENCE (parent
 * missing or children left), ERR_OUTCOME_UNKNOWN (a change that was sent and could not be settled
 * before the deadline), ERR_REPEATED (the key of the request was used by another meanwhile: nothing
 * was done), ERR_INTERNAL. Absence is no error: out pointers become NULL, flags false.
 * Blocking, slow lane only (asserted). */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "str.h"

struct arena;
struct sql;

struct sql_conf {
    const char *database; /* "sqlite:PATH" or "postgresql://…", several hosts allowed */
    bool prepared;        /* named prepared statements and start-up options; off for old poolers */
    unsigned pool;        /* connections of the slow lane, opened when needed */
    int64_t connect_ms;   /* how long one attempt to connect may take */
    bool existing;        /* SQLite: a file that is not there is not made */
};

/* Opens the handle; connects once (SQLite: locks the file). ERR_UNAVAILABLE, ERR_INTERNAL. */
MUST bool sql_open(const struct sql_conf *conf, struct sql **out, struct err *err);
void sql_close(struct sql **s);
/* The database without secrets, for logs: "postgresql://host:5432/firn". */
struct str sql_name(const struct sql *s);
/* Applies missing migrations under a lock; safe when several servers start at once. */
MUST bool sql_migrate(struct sql *s, struct err *err);
MUST bool sql_schema_version(struct sql *s, int64_t *have, int64_t *want, struct err *err);
/* One round trip. */
MUST bool sql_ping(struct sql *s, struct err *err);

/* --- who changes what: written with every change of a pointer or a name ---- */

/* The answer to a request that carries a key, kept in the transaction of what it did. */
struct sql_idem {
    struct str key;
    struct str digest; /* of the request, hex */
    int64_t lifetime_ms;
    int status;
    struct str answer; /* absent: of a 200, the metadata location that the change leads to */
    bool kept;         /* set by the function that kept it */
};

struct sql_change {
    struct str token;     /* unique: the uuid of the new metadata file, or a drawn one */
    struct str digest;    /* of the request, hex; may be absent */
    struct str principal; /* may be absent */
    struct str request_id;
    int64_t at_ms;
    int64_t deadline_us;   /* monotonic: until then an unclear outcome is settled by the token */
    struct sql_idem *idem; /* NULL: the request carries no key */
};

/* --- warehouses ---- */

struct sql_warehouse {
    int64_t id;
    struct str name, uuid, base;
    struct str profile; /* JSON; empty: settings describe it */
    bool active;
    int64_t version; /* another one after every change */
};

/* --- namespaces: path = levels joined by 0x1F ---- */

struct sql_ns {
    int64_t id;
    int64_t version;
    struct str path;
    struct str properties; /* JSON object */
};
MUST bool sql_ns_get(struct arena *a, struct sql *s, int64_t warehouse, struct str path,
    struct sql_ns **out, struct err *err);
/* The namespace and its missing parents, in one transaction. *created is false when it existed. */
MUST bool sql_ns_create(struct sql *s, int64_t warehouse, struct str path, struct str properties,
    const struct sql_change *by, bool *created, struct err *err);
/* Replaces the properties if the version is still the given one; *swapped tells. */
MUST bool sql_ns_set_properties(struct sql *s, int64_t warehouse, int64_t id, int64_t version,
    struct str properties, const struct sql_change *by, bool *swapped, struct err *err);
struct sql_ns_content {
    int64_t tables, views, namespaces;
};
/* Deletes an empty namespace. Not empty: *dropped false and what is in it (counts). Missing:
 * *dropped false and all zero. The foreign keys decide against concurrent creates. */
MUST bool sql_ns_drop(struct sql *s, int64_t warehouse, struct str path,
    const struct sql_change *by, bool *dropped, struct sql_ns_content *content, struct err *err);
/* Children of a parent (empty path: the root), in byte order of the name, after `after` (absent:
 * from the first), at most limit. *found false: the parent does not exist. */
MUST bool sql_ns_page(struct arena *a, struct sql *s, int64_t warehouse, struct str parent,
    struct str after, size_t limit, struct str **names, size_t *n, bool *found, struct err *err);

/* --- tables and views: one name space ---- */

enum sql_kind { SQL_TABLE = 1, SQL_VIEW = 2 };

struct sql_object {
    int64_t id;
    enum sql_kind kind;
    struct str uuid;
    struct str location; /* the table's, as the client sees it */
    struct str metadata_location;
};
/* By namespace path and name, of either kind. *ns_found tells whether the namespace exists. */
MUST bool sql_object_get(struct arena *a, struct sql *s, int64_t warehouse, struct str ns,
    struct str name, bool *ns_found, struct sql_object **out, struct err *err);

/* Of several at once: *out[i] is NULL where nothing has the name. */
struct sql_name {
    struct str ns, name;
};
MUST bool sql_object_get_all(struct arena *a, struct sql *s, int64_t warehouse,
    const struct sql_name *names, size_t n, struct sql_object **out, struct err *err);

/* The room for a new object. */
struct sql_room {
    struct sql_ns *ns; /* NULL: there is none */
    bool taken;        /* something has the name */
    enum sql_kind taken_by;
};
MUST bool sql_object_room(struct arena *a, struct sql *s, int64_t warehouse, struct str ns,
    struct str name, struct sql_room *out, struct err *err);

/* Where an object lies, for the rule that no live table's location is or contains another's. Both
 * are normalised, so that one place has one form in all warehouses. */
struct sql_place {
    struct str authority, path;
};

struct sql_new_object {
    int64_t warehouse;
    struct str ns, name;
    int64_t ns_id; /* the namespace's as it was found; 0: nobody has looked */
    enum sql_kind kind;
    struct str uuid, location, metadata_location;
    struct sql_place place;
    const struct sql_registered *registered; /* sql_survey.h; NULL: it was made here */
    struct str lease; /* nobody may hold it when the object is there; absent: there is none */
};
enum sql_insert_result {
    SQL_INSERTED,
    SQL_NO_NAMESPACE,
    SQL_NAME_TAKEN,     /* *taken_by tells by what */
    SQL_UUID_TAKEN,     /* an object of this warehouse, live or being purged, has this uuid */
    SQL_LOCATION_TAKEN, /* the location is, contains or lies in another object's */
    SQL_LEASE_HELD,
};
MUST bool sql_object_insert(struct sql *s, const struct sql_new_object *o,
    const struct sql_change *by, enum sql_insert_result *out, enum sql_kind *taken_by,
    struct err *err);

/* Moves the pointer of one object, or of several in one transaction (all or none; sorted by id
 * here). A swap whose old metadata location is no longer the row's is lost, and then nothing is
 * changed. The change row's token settles unclear outcomes until the deadline. */
struct sql_swap {
    int64_t warehouse, object;
    struct str old_metadata_location, metadata_location;
    struct str location;           /* absent: unchanged */
    const struct sql_place *place; /* with location */
    struct sql_change by;
};
enum sql_swap_result { SQL_SWAPPED, SQL_SWAP_LOST, SQL_SWAP_LOCATION_TAKEN };
MUST bool sql_object_swap(struct sql *s, const struct sql_swap *swaps, size_t n,
    enum sql_swap_result *out, struct err *err);

/* Several objects in one transaction, all or none. */
struct sql_write {
    const struct sql_swap *swap; /* its new metadata location absent: it only must not have moved */
    const struct sql_new_object *insert; /* or this */
    struct sql_change by;                /* of the insert; a swap has its own */
};
struct sql_written {
    bool done;
    size_t at;                     /* not done: the write that could not be made, and why */
    enum sql_swap_result swap;     /* when it is a swap */
    enum sql_insert_result insert; /* when it is an insert */
    enum sql_kind taken_by;
};
/* Swaps come first, in the order of the objects' ids, then inserts in the order of their names. The
 * token of the first that is no mere look speaks for all. */
MUST bool sql_object_write(struct sql *s, const struct sql_write *writes, size_t n,
    struct sql_written *out, struct err *err);
/* Puts an object in the place of the one of its name and kind, which keeps its id; inserts it when
 * there is none. */
MUST bool sql_object_replace(struct sql *s, const struct sql_new_object *o,
    const struct sql_change *by, enum sql_insert_result *out, enum sql_kind *taken_by,
    struct err *err);

enum sql_rename_result {
    SQL_RENAMED,
    SQL_RENAME_NO_SOURCE,
    SQL_RENAME_NO_NAMESPACE, /* of the destination */
    SQL_RENAME_NAME_TAKEN,
};
MUST bool sql_object_rename(struct sql *s, int64_t warehouse, enum sql_kind kind, struct str ns,
    struct str name, struct str to_ns, struct str to_name, const struct sql_change *by,
    enum sql_rename_result *out, enum sql_kind *taken_by, struct err *err);

enum sql_purge { SQL_KEEP_FILES, SQL_PURGE_FILES };
/* *dropped false: no object of that kind and name. With SQL_PURGE_FILES the row stays behind,
 * nameless, as the durable mark of a purge to do. */
MUST bool sql_object_drop(struct arena *a, struct sql *s, int64_t warehouse, enum sql_kind kind,
    struct str ns, struct str name, enum sql_purge purge, const struct sql_change *by,
    bool *dropped, struct sql_object **was, struct err *err);

enum sql_unregister_result { SQL_UNREGISTERED, SQL_UNREGISTER_LOST, SQL_UNREGISTER_NONE };
/* Drops an object whose pointer still is the given one. LOST: it moved; NONE: there is none. */
MUST bool sql_object_unregister(struct sql *s, int64_t warehouse, enum sql_kind kind, struct str ns,
    struct str name, struct str metadata_location, const struct sql_change *by,
    enum sql_unregister_result *out, struct err *err);
/* Where the pointer of a live object leads; absent: there is none of this id. */
MUST bool sql_object_location(struct arena *a, struct sql *s, int64_t warehouse, int64_t object,
    struct str *metadata_location, struct err *err);

/* Names of one kind in a namespace, as sql_ns_page. */
MUST bool sql_object_page(struct arena *a, struct sql *s, int64_t warehouse, struct str ns,
    enum sql_kind kind, struct str after, size_t limit, struct str **names, size_t *n, bool *found,
    struct err *err);

/* What the newest request with this digest made of an object, and the object's pointer; both
 * absent: nothing, or it is gone. Recognises a commit that is sent again, also after a rename. */
struct sql_applied {
    struct str metadata_location, current;
};
MUST bool sql_change_by_digest(struct arena *a, struct sql *s, int64_t warehouse, struct str digest,
    struct sql_applied *out, struct err *err);
