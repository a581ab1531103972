/* Warehouses made, changed and deleted: what the management API and `firn warehouse` share. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "err.h"
#include "str.h"

struct arena;
struct config;
struct secrets;
struct sql;

struct manage {
    const struct config *conf;
    struct sql *sql;
    struct secrets *secrets;
};

/* Each yields a JSON document in the arena, as management.yaml describes it. Bodies are checked
 * already. `named`: a name or an id. ERR_NO_SUCH_WAREHOUSE; ERR_INVALID_ARGUMENT, ERR_FORBIDDEN: a
 * warehouse that cannot be, or whose storage does not work; ERR_ALREADY_EXISTS; ERR_CONFLICT:
 * changed meanwhile, overlapping another, not empty; ERR_UNAVAILABLE. Slow lane. */
MUST bool manage_list(struct arena *a, const struct manage *m, struct str *out, struct err *err);
MUST bool manage_show(
    struct arena *a, const struct manage *m, struct str named, struct str *out, struct err *err);
MUST bool manage_create(
    struct arena *a, const struct manage *m, const json_t *body, struct str *out, struct err *err);
MUST bool manage_change(struct arena *a, const struct manage *m, struct str named,
    const json_t *body, struct str *out, struct err *err);
MUST bool manage_check(
    struct arena *a, const struct manage *m, struct str named, struct str *out, struct err *err);
MUST bool manage_delete(struct arena *a, const struct manage *m, struct str named, struct err *err);

/* firn warehouse WORD...: the exit code. */
int manage_command(const struct config *conf, char *const *words, struct err *err);
