/* The sources that ask somebody, and what they share with source.c. */
#pragma once

#include "source.h"

/* A variable of the environment; absent when unset or empty. */
struct str source__env(const char *name);
/* A small file of text, without blanks and line ends around it; wiped with the arena. */
MUST bool source__file(struct arena *a, struct str path, struct str *out, struct err *err);

/* The first of a list in which there is anything to ask, and that may be asked for this store;
 * NULL: none. */
const struct source *source__first(
    const struct source *list, size_t n, const struct store_conf *conf);

/* What a source gives. What time will not heal is ERR_INTERNAL, the rest ERR_UNAVAILABLE. */
MUST bool source__fetch(const struct source *source, const struct store_conf *conf,
    struct credentials **out, struct err *err);

/* machine.c: what the machine that the server runs on tells about its identity. */
bool machine__container_given(const struct store_conf *conf);
MUST bool machine__container(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err);
bool machine__instance_given(const struct store_conf *conf);
MUST bool machine__instance(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err);
