/* What the files of this folder share about the catalog handle. */
#pragma once

#include <stdatomic.h>

#include "cache.h"
#include "catalog.h"
#include "draft.h"
#include "ident.h"

struct catalog {
    struct sql *sql;
    struct store *store;
    struct cache_view cached;
    atomic_uint refs;
    struct arena *arena; /* what follows lives here */
    struct sql_warehouse warehouse;
    struct location *roots; /* the base first, then the allowed locations; by identity */
    size_t n_roots;
    const char *const *allowed_properties;
    size_t transaction_tables;
    size_t metadata_max; /* bytes of a metadata file, unpacked */
};

/* The translation of technical errors for a change: ERR_UNAVAILABLE becomes ERR_BUSY (certainly not
 * applied), ERR_OUTCOME_UNKNOWN becomes ERR_COMMIT_UNKNOWN; what the store refused becomes a 4xx
 * with its reason. */
bool catalog__change_failed(struct err *err);
/* For reading a table's metadata file: ERR_NOT_FOUND names it; for a broken one ERR_UNREADABLE,
 * which names it and says what is wrong, and which no client tries again. */
bool catalog__metadata_failed(struct str location, struct err *err);

bool catalog__no_such_namespace(struct arena *a, struct str ns, struct err *err);

/* Change row of a request; token as given or, when absent, drawn. */
struct sql_change catalog__change(
    struct arena *a, const struct caller *by, struct str token, struct str digest);

/* A location a client asked for: without trailing slashes, inside the warehouse's bases, and where
 * it lies. ERR_INVALID_ARGUMENT. */
MUST bool place__check(struct arena *a, const struct catalog *c, struct str asked,
    struct str *location, struct sql_place *place, struct err *err);
/* May files lie where the request says that they do, and may its properties be set? All files in
 * the warehouse, and folders for new ones not in another object's location. ERR_INVALID_ARGUMENT
 * names the member. */
MUST bool uris__check(
    struct arena *a, const struct catalog *c, const struct draft *d, struct err *err);
/* The same of all that a file to be registered names, but for the metadata log: it tells of the
 * past, and nothing in it is read, or deleted unchecked. */
MUST bool uris__check_all(
    struct arena *a, const struct catalog *c, const struct metadata *m, struct err *err);
/* <base>/<levels>/<table>-<uuid>, or below the namespace's own location when it has one: readable
 * in a bucket browser, never used twice. */
struct str place__default(struct arena *a, const struct catalog *c, const struct sql_ns *ns,
    struct str name, struct str uuid);
/* The folder in which it puts those of a namespace. */
struct str place__folder(struct arena *a, const struct catalog *c, const struct sql_ns *ns);

/* Pages of names. A list is what its tokens are bound to, and how a batch of it is read: *found is
 * false when there is no such parent. */
enum { PAGE_DEFAULT = 1000, PAGE_MAX = 10000, PAGE_BATCH = 2000 };
typedef bool names_fn(struct arena *a, const struct catalog *c, struct str parent, struct str after,
    size_t limit, struct str **names, size_t *n, bool *found, struct err *err);
struct page_list {
    const struct catalog *catalog;
    struct str parent;
    const char *kind; /* "tables" */
    names_fn *read;
};
struct names {
    struct str *v;
    size_t n, cap;
    bool found;      /* the parent exists */
    struct str next; /* the token of the next page, or a piece's last name; absent: all was read */
};

/* Where to go on after `last`. */
struct str page__token(struct arena *a, const struct page_list *list, struct str last);
/* *after: the name that the page or piece begins behind, or absent. ERR_BAD_REQUEST for a token of
 * another list. */
MUST bool page__after(struct arena *a, const struct page_list *list, const struct page *page,
    struct str *after, size_t *limit, struct err *err);
/* Reads batch by batch until the page is full or the end; a piece is one batch. */
MUST bool page__read(struct arena *a, const struct page_list *list, const struct page *page,
    struct names *out, struct err *err);
