/* What the two files of the settings share: the rows, and one load of them. */
#pragma once

#include "config.h"
#include "str.h"

enum setting_type {
    TYPE_TEXT,
    TYPE_SECRET,
    TYPE_LIST,
    TYPE_INT,
    TYPE_BYTES,
    TYPE_SECONDS,
    TYPE_BOOL
};

struct setting {
    const char *field, *env, *value; /* value: the default's text */
    enum setting_type type;
    size_t offset;
    int64_t min, max;
    const char *help;
};

enum {
#define X(field, type, env, value, min, max, help) SETTING_##field,
    CONFIG_SETTINGS(X)
#undef X
        SETTING_COUNT
};
extern const struct setting config__settings[SETTING_COUNT];

enum { FLAG = 0x7fffffff }; /* instead of a line: the command line */

/* Where a value came from, for messages: "the environment", "line 3 of /etc/firn.conf". */
struct load {
    struct arena *a;
    struct config *conf;
    struct err *err;
    const char *source;
    const char *prefix;             /* of names there: "FIRN_" in the environment */
    unsigned line;                  /* of the file; FLAG; 0: elsewhere */
    unsigned set_in[SETTING_COUNT]; /* the line, FLAG */
};

/* "s3_region", "s3-region" and "S3_REGION" are one name. NULL: no setting has it. */
const struct setting *config__named(struct str name);
/* The error for such a name, with the one that may have been meant; yields false. */
bool config__unknown(struct load *l, struct str name);
/* Is each item of a list one that may match something? ERR_BAD_REQUEST says which is not. */
MUST bool config__check_lists(struct load *l);
/* The value from its text. ERR_BAD_REQUEST says what was expected. */
MUST bool config__set(struct load *l, const struct setting *s, struct str text);
