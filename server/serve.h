/* `firn serve`, and the parts of it that other commands need: opening and closing in order. */
#pragma once

#include <stdbool.h>

#include "base.h"
#include "config.h"
#include "err.h"

struct sql;
struct store;

/* Connects to the database; while it is away tries again until start_timeout has passed. */
MUST bool serve_open_database(const struct config *conf, struct sql **out, struct err *err);
MUST bool serve_open_store(const struct config *conf, struct store **out, struct err *err);

/* Runs until SIGTERM or SIGINT and its drain. False: it could not start. */
MUST bool serve(const struct config *conf, struct err *err);
