/* `firn serve`, and the parts of it that other commands need: opening and closing in order. */
#pragma once

#include <stdbool.h>

#include "base.h"
#include "config.h"
#include "err.h"

struct arena;
struct secrets;
struct sql;
struct store;

/* May the file of an SQLite database be made? */
enum serve_file { SERVE_MAKE, SERVE_EXISTING };

/* Connects to the database; while it is away tries again until start_timeout has passed. */
MUST bool serve_open_database(
    const struct config *conf, enum serve_file file, struct sql **out, struct err *err);
/* ERR_UNAVAILABLE: the schema is not the one of this program. */
MUST bool serve_check_schema(struct sql *sql, struct err *err);
/* secrets: of the database, which outlive the store; NULL: they are not to be had. */
MUST bool serve_open_store(struct arena *a, const struct config *conf, struct secrets *secrets,
    struct store **out, struct err *err);

/* Runs until SIGTERM, SIGINT or SIGHUP and its drain. False: it could not start. */
MUST bool serve(const struct config *conf, struct err *err);
