/* The catalog of one warehouse: what it holds and the rules by which it changes. Knows Iceberg, not
 * HTTP. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "sql.h"
#include "store.h"
#include "str.h"

struct catalog;
struct cache;
struct leftovers;

struct catalog_conf {
    struct sql *sql;                       /* not owned */
    struct cache *cache;                   /* not owned; of all warehouses */
    struct sql_warehouse warehouse;        /* its row */
    const char *const *allowed;            /* as in struct store_conf; NULL-ended, may be NULL */
    const char *const *allowed_properties; /* patterns, see uri.c; NULL-ended, or NULL */
    size_t transaction_tables;             /* changes in one transaction */
};

/* A reference for the caller. Takes over, also when it fails, the store and the arena in which the
 * strings of conf and of the store live. ERR_STORE_BAD_URI. */
MUST bool catalog_new(const struct catalog_conf *conf, struct arena *a, struct store *store,
    struct catalog **out, struct err *err);
struct catalog *catalog_ref(struct catalog *c);
/* The last one closes the store, which may block. */
void catalog_unref(struct catalog **c);
/* Is there no other reference? Nobody can get one from nobody. */
bool catalog_is_last(const struct catalog *c);

struct store *catalog_store(const struct catalog *c);
const struct sql_warehouse *catalog_warehouse(const struct catalog *c);

/* What a failed read is to a client: nothing changed, it may try again. */
bool catalog_read_failed(struct err *err);

/* Who asks, and until when an unclear outcome may be settled. */
struct caller {
    struct str principal;
    struct str request_id;
    int64_t deadline_us;
    struct sql_idem *idem;  /* the request's key, kept with what it changes; NULL: none */
    struct leftovers *left; /* gathers files to delete; NULL: they stay */
};

/* A page of names asked for. Without a token: a piece of the whole list, which is as if all pages
 * of it were read one after the other. What follows a piece is not told by a token but by the last
 * name: go on behind it. */
struct page {
    struct str token;
    int64_t size;     /* of the page; 0: not given */
    struct str after; /* of a piece: the name that it begins behind; absent: from the first */
    size_t most;      /* of a piece: names; 0: as many as are read at once */
};
