/* The warehouses of this server: each is opened when it is first asked for, and again when its row
 * has changed. One cache for all. Safe for use by many threads at once. */
#pragma once

#include <stdbool.h>

#include "catalog.h"
#include "err.h"
#include "str.h"

struct config;
struct secrets;
struct sql;
struct warehouses;

/* Opens the default warehouse, which the settings describe; its row is made if it is missing.
 * Blocks. All three outlive the result; secrets may be NULL. */
MUST bool warehouses_open(const struct config *conf, struct sql *sql, struct secrets *secrets,
    struct warehouses **out, struct err *err);
/* Nobody may hold another reference to a catalog. */
void warehouses_close(struct warehouses **w);

/* A reference to the warehouse by its name, its uuid or its base location; empty: the default one.
 * What another server changed is seen within two seconds. In the fast lane ERR_WOULD_BLOCK when the
 * database has to be asked. ERR_NO_SUCH_WAREHOUSE; ERR_FORBIDDEN for one that is deactivated. */
MUST bool warehouses_find(
    struct warehouses *w, struct str named, struct catalog **out, struct err *err);
/* For jobs, which look after the files of all: by uuid, a reference, also one that is deactivated,
 * or that is the default one of another server (read with this one's settings). Slow lane. */
MUST bool warehouses_open_any(
    struct warehouses *w, struct str uuid, struct catalog **out, struct err *err);
/* Calls fn for the default warehouse and all others that are active and can be opened. */
void warehouses_each(struct warehouses *w, void (*fn)(struct catalog *c, void *arg), void *arg);
/* This server changed a row: all warehouses but the default one are looked up again. */
void warehouses_forget(struct warehouses *w);
