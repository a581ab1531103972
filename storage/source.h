/* Where the server's own keys come from: the first of a list of sources that is there. */
#pragma once

#include <stdbool.h>

#include "credentials.h"
#include "err.h"

struct arena;
struct store_conf;

/* A row of source.c's table. */
struct source {
    const char *name; /* for messages: "the keys of <name>" */
    /* Is there anything to ask? Touches no network. */
    bool (*given)(const struct store_conf *conf);
    /* The keys as they are now. What lies in the arena is not wiped, unless secret_wipe_with. */
    bool (*fetch)(
        struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err);
    enum source_kind {
        SOURCE_FIXED,   /* for the life of the process */
        SOURCE_LOOKED,  /* read again when the store calls the keys expired */
        SOURCE_RENEWED, /* expire, and are asked for anew before that */
    } kind;
    enum source_of {
        SOURCE_TOLD,    /* in the store_conf */
        SOURCE_AROUND,  /* files and variables of the process */
        SOURCE_WEB,     /* an identity that another provider proves */
        SOURCE_MACHINE, /* that of the machine */
    } of;
};

/* The sources of one kind of store, for keeper.h. */
struct sources {
    const char *what; /* "S3 keys", for messages */
    /* ERR_INTERNAL, with all the ways to give keys, when there is none. *kind: of the keys that
     * come of it, which may be others than the source's own. */
    bool (*find)(const struct store_conf *conf, const struct source **out, enum source_kind *kind,
        struct err *err);
    /* ERR_UNAVAILABLE: later it may work; ERR_INTERNAL: it was refused, or is not understood.
     * Caller: credentials_unref. */
    bool (*fetch)(const struct source *source, const struct store_conf *conf,
        struct credentials **out, struct err *err);
};
extern const struct sources sources_s3;
extern const struct sources sources_gcs;
extern const struct sources sources_azure;

/* ERR_INTERNAL, with all the ways to give S3 keys, when there is none. */
MUST bool source_find(const struct store_conf *conf, const struct source **out, struct err *err);
/* From the source, by way of the role where one is to be assumed. ERR_UNAVAILABLE: later it may
 * work; ERR_INTERNAL: it was refused, or is not understood. Caller: credentials_unref. */
MUST bool source_fetch(const struct source *source, const struct store_conf *conf,
    struct credentials **out, struct err *err);
