/* The life of an object, a table or a view: what the two have in common, by kind. The files of each
 * (table.c, view.c) say which. */
#pragma once

#include "catalog_priv.h"
#include "draft.h"
#include "json.h"
#include "metadata.h"
#include "object.h"

/* Who does something, and to which kind of object. */
struct act {
    struct arena *a;
    struct catalog *c;
    const struct caller *by; /* NULL: it only looks */
    enum sql_kind kind;
};

/* An object's row and the metadata its pointer leads to, for a change: what cannot be read is a
 * 4xx.
 */
struct current {
    const struct sql_object *row;
    const struct metadata *metadata;
};
MUST bool object__current(
    const struct act *act, const struct ident *id, struct current *out, struct err *err);
/* The same, where the row has been read; NULL: there is none. */
MUST bool object__current_of(const struct act *act, const struct ident *id,
    const struct sql_object *row, struct current *out, struct err *err);

/* A metadata file that was written for a change still to be made. */
struct written {
    struct metadata *metadata; /* own reference */
    struct str location;
    struct str token;
};

/* Finishes the draft. *file: what is to be written, all of it in the arena. */
MUST bool object__finish(struct arena *a, struct catalog *c, struct draft *d, struct written *out,
    struct store_file *file, struct err *err);
/* Says so of a file that the store did not take. */
bool object__write_failed(struct str location, struct err *err);
/* Finishes the draft and writes its file. ERR_BUSY, ERR_FORBIDDEN, ERR_BAD_REQUEST when the store
 * refuses: nothing was changed then. */
MUST bool object__write(
    struct arena *a, struct catalog *c, struct draft *d, struct written *out, struct err *err);
/* The same for the first file of a new object, with the folders that clients expect. */
MUST bool object__write_first(struct arena *a, struct catalog *c, enum sql_kind kind,
    struct draft *d, struct written *out, struct err *err);
/* The change it was written for certainly did not happen. */
void object__discard(struct catalog *c, struct written *w);
/* The change happened: the metadata goes to the cache and, borrowed, to the caller. */
void object__keep(struct arena *a, struct catalog *c, struct written *w, struct loaded *out);

/* Puts a new object into the catalog under its first metadata. The conflicts of the operations that
 * make one differ in words only (protocol 4.9). */
enum new_object { NEW_CREATE, NEW_STAGED, NEW_COMMIT, NEW_REGISTER };
MUST bool object__insert(const struct act *act, const struct sql_new_object *o, struct str token,
    struct str digest, enum new_object as, struct err *err);
/* What came of an insert: true when it was made, else the error. */
MUST bool object__inserted(const struct act *act, const struct sql_new_object *o,
    enum sql_insert_result result, enum sql_kind taken_by, enum new_object as, struct err *err);
/* The namespace, and that nothing has the name in it. ERR_NO_SUCH_NAMESPACE, ERR_ALREADY_EXISTS, or
 * ERR_COMMIT_FAILED for NEW_COMMIT on a table. */
MUST bool object__name_free(const struct act *act, const struct ident *id, enum new_object as,
    struct sql_ns **ns, struct err *err);
bool object__no_such(struct arena *a, enum sql_kind kind, const struct ident *id, struct err *err);
const char *object__word(enum sql_kind kind); /* "table", "view" */
/* The metadata at that location, borrowed from the arena; errors as those of cache_get, and
 * ERR_INVALID_ARGUMENT when it is of the other kind. */
MUST bool object__metadata(struct arena *a, struct catalog *c, enum sql_kind kind,
    struct str location, const struct metadata **out, struct err *err);
/* The same for a row's pointer, and of the row's uuid. */
MUST bool object__metadata_of(const struct act *act, const struct sql_object *row,
    const struct metadata **out, struct err *err);
/* After ERR_NOT_FOUND: since the row was read its file may have gone with the object, or have left
 * a short log after further commits. True: *row is what is there now, or NULL; false: it is the
 * same, and err says so still, or it cannot be asked here and now. */
enum { LOAD_ROUNDS = 4 };
MUST bool object__has_moved(
    const struct act *act, const struct ident *id, const struct sql_object **row, struct err *err);
/* metadata and data folders of a table, on stores that have folders. Their absence harms only some
 * clients. */
void object__make_dirs(struct arena *a, struct catalog *c, struct str location);

/* A commit that loses its swap to others is tried again, requirements and all. */
enum { COMMIT_ROUNDS = 4 };
/* The format version a new table starts with, so that a v1 table is no downgrade. */
int64_t object__first_version(const json_t *updates);
/* Is it a body that nobody sends twice for two reasons? It carries ids that are drawn, or the time
 * at which a version of a view was made. */
bool object__is_unique(enum sql_kind kind, const json_t *updates);
/* After this error of a commit or transaction: may an earlier copy of it have succeeded? */
bool object__may_be_second(const struct err *err);
/* The change that was made needs this file no more; it goes when the answer is out. */
void object__leave(const struct act *act, struct str uri);
/* So with files that left the log of an object in the step from base to now, if the table asks for
 * that by write.metadata.delete-after-commit.enabled. */
void object__leave_old_files(
    const struct act *act, const struct current *base, const struct metadata *now);

/* What table.h and view.h promise for each. */
MUST bool object__load(const struct act *act, const struct ident *id, const struct sql_object *row,
    struct loaded *out, struct err *err);
MUST bool object__create(const struct act *act, struct str ns, const struct sql_ns *room,
    const json_t *body, struct loaded *out, struct err *err);
MUST bool object__register(
    const struct act *act, struct str ns, const json_t *body, struct loaded *out, struct err *err);
MUST bool object__commit(const struct act *act, const struct ident *id,
    const struct sql_object *row, const json_t *body, struct str digest, struct loaded *out,
    struct err *err);
/* *was: the row as it was dropped; NULL when that is not known. */
MUST bool object__drop(const struct act *act, const struct ident *id, enum sql_purge purge,
    struct sql_object **was, struct err *err);
MUST bool object__rename(const struct act *act, const json_t *body, struct err *err);
MUST bool object__list(const struct act *act, struct str ns, const struct page *page,
    struct str **names, size_t *n, struct str *next, struct err *err);
