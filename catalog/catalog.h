/* The catalog: what a warehouse holds and the rules by which it changes. Knows Iceberg, not HTTP.
 */
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
    struct sql *sql;     /* not owned */
    struct store *store; /* not owned */
    const char *warehouse_name;
    const char *const *allowed; /* as in struct store_conf; NULL-ended, may be NULL */
    size_t cache_bytes;
    size_t metadata_max;       /* largest metadata file, unpacked */
    size_t transaction_tables; /* changes in one transaction */
};

/* Makes the default warehouse's row if it is missing. Blocks. */
MUST bool catalog_new(const struct catalog_conf *conf, struct catalog **out, struct err *err);
void catalog_free(struct catalog **c);

struct sql *catalog_sql(const struct catalog *c);
struct store *catalog_store(const struct catalog *c);
struct cache *catalog_cache(const struct catalog *c);
const struct sql_warehouse *catalog_warehouse(const struct catalog *c);
/* Is `named` the default warehouse: by its name, its uuid, or its base location? Empty: yes. */
bool catalog_is_warehouse(const struct catalog *c, struct str named);

/* Who asks, and until when an unclear outcome may be settled. */
struct caller {
    struct str principal;
    struct str request_id;
    int64_t deadline_us;
    struct sql_idem *idem;  /* the request's key, kept with what it changes; NULL: none */
    struct leftovers *left; /* gathers files to delete; NULL: they stay */
};

/* A page of names asked for. token absent: everything, unpaged. */
struct page {
    struct str token;
    int64_t size; /* 0: not given */
};
