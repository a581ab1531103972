/* The operation table: what the Iceberg REST specification says about each operation, as rows.
 * The rows are generated from catalog.yaml and management.yaml into ops.gen.c; route.c, param.c and
 * body.c walk them.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "lane.h"
#include "str.h"

struct arena;

enum op_method { OP_GET, OP_HEAD, OP_POST, OP_DELETE, OP_METHOD_COUNT };

/* What a call needs to know from the database before its handler runs (x-lookup). */
enum op_lookup {
    LOOKUP_NONE,
    LOOKUP_WAREHOUSE,
    LOOKUP_NAMESPACE,
    LOOKUP_TABLE,
    LOOKUP_VIEW,
    LOOKUP_ROOM /* the namespace, and whether the name in the body is free in it */
};

/* Which of the descriptions it comes from, as bits. */
enum op_api { API_CATALOG = 1, API_MANAGEMENT = 2 };

enum param_in { IN_PATH, IN_QUERY, IN_HEADER };
enum param_kind {
    PARAM_STRING,    /* any text up to max bytes */
    PARAM_INT,       /* decimal integer within min..max */
    PARAM_BOOL,      /* true or false in any case */
    PARAM_ENUM,      /* one of values, in any case; normalised to lower case */
    PARAM_TOKEN,     /* page token */
    PARAM_NAME,      /* one name in the path */
    PARAM_NAMESPACE, /* levels joined by the unit separator */
    PARAM_UUID
};

struct param {
    const char *name; /* as on the wire: "pageToken", "If-None-Match", "namespace" */
    enum param_in in;
    enum param_kind kind;
    bool required;
    int64_t min, max; /* PARAM_INT: of the value; others: of its length in bytes, max 0: any */
    const char *const *values; /* NULL-ended, for PARAM_ENUM */
};

struct body; /* flat description of a request body; body.c is the only reader */

enum { OP_PARAMS_MAX = 8, OP_SEGMENTS_MAX = 8 };

struct op {
    unsigned id;      /* enum op_id: OP_LOAD_TABLE, … */
    const char *name; /* operationId: "loadTable" */
    enum op_api api;
    enum op_method method;
    const char *path; /* as the specification writes it: "/v1/{prefix}/namespaces/{namespace}" */
    const char *endpoint; /* "GET /v1/{prefix}/namespaces", as /v1/config lists it; NULL: never */
    const struct param *params; /* those of the path first, in its order, without {prefix} */
    unsigned n_params;
    const struct body *body; /* NULL: no body, or one that is not looked at */
    bool body_required;
    enum lane lane;
    enum op_lookup lookup;
    size_t body_limit; /* bytes; 0: the server's setting */
    int success;       /* status of the success without a body, or 200 */
    bool mutates; /* changes something: overload and unknown outcomes are answered differently */
    bool served;  /* false: absent from `endpoints`, answered 406 */
};

#include "ops.gen.h" /* enum op_id, OP_COUNT, const struct op op_rows[OP_COUNT], op_<name> handlers */

/* A value of a path segment. `+` means a space to Java and a plus to others: both readings are kept
 * (protocol: names and encoding). Without a plus the two are equal. */
struct op_arg {
    const char *name; /* "namespace", "table", … */
    struct str value; /* decoded once, `+` read as a space */
    struct str plus;  /* decoded once, `+` kept */
};

struct route {
    const struct op *op;
    struct str prefix; /* absent when the unprefixed form was used */
    struct op_arg args[OP_PARAMS_MAX];
    unsigned n_args;
};

/* Matches a method and the raw, undecoded path (no query). Every operation but getConfig and
 * getToken exists with and without {prefix}. Empty segments in front of and behind "v1" are
 * dropped. ERR_NO_ROUTE (404), ERR_METHOD (405; *allow lists the methods, "GET, HEAD"),
 * ERR_BAD_REQUEST (bad percent-encoding, NUL, invalid UTF-8). Strings live in the arena or borrow
 * from path. */
MUST bool op_find(struct arena *a, enum op_method method, struct str path, struct route *out,
    struct str *allow, struct err *err);
/* "GET" → OP_GET. False for a method that no operation uses: *out is OP_METHOD_COUNT then, with
 * which op_find answers ERR_METHOD or ERR_NO_ROUTE, as the path deserves. */
bool op_method_parse(struct str s, enum op_method *out);

/* Checks the decoded query and header values of a call, in the order of op->params (absent ones
 * have p == NULL; places of path parameters are not looked at); values of PARAM_ENUM and PARAM_BOOL
 * are normalised to lower case in place. ERR_BAD_REQUEST names the parameter, what was expected and
 * what was found. */
MUST bool op_check_params(
    struct arena *a, const struct op *op, struct str *values, struct err *err);

/* Checks a parsed body (NULL: there was none) against its description. ERR_BAD_REQUEST with a JSON
 * pointer:
 * "/updates/3/snapshot/manifest-list: required member is missing". Unknown members are ignored;
 * null counts as absent for optional members; unknown actions and requirement types are refused. */
MUST bool op_check_body(const struct body *body, const json_t *json, struct err *err);

/* The endpoints of all rows that are served and listed, as members of a JSON array. */
extern const char op_endpoints[];

/* The texts of our own descriptions, as the repository has them. */
extern const char op_description_of_catalog[], op_description_of_management[];
extern const size_t op_description_of_catalog_size, op_description_of_management_size;
