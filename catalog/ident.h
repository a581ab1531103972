/* Names of namespaces and tables: limits, the form in messages. */
#pragma once

#include <jansson.h>
#include <stdbool.h>

#include "err.h"
#include "str.h"

struct arena;

/* Between the levels of a namespace, in our rows and in raw path segments. */
#define IDENT_SEPARATOR '\x1f'

struct ident {
    struct str ns; /* levels joined by IDENT_SEPARATOR */
    struct str name;
};

/* A namespace given as a JSON array of levels, or as the decoded path segment. ERR_BAD_REQUEST for
 * names nobody can have: empty, ".", "..", control characters, 255 bytes per level, 2,048 in all.
 * `at` is the JSON pointer to the object that has the namespace; the message ends with where in it.
 */
MUST bool ident_ns_from_json(
    struct arena *a, const json_t *levels, const char *at, struct str *out, struct err *err);
MUST bool ident_ns_check(struct str path, struct err *err);
MUST bool ident_name_check(struct str name, const char *what, struct err *err);
/* {"namespace": [...], "name": "..."} */
MUST bool ident_from_json(
    struct arena *a, const json_t *id, const char *at, struct ident *out, struct err *err);
/* "a.b.t" as messages show it. */
struct str ident_text(struct arena *a, const struct ident *id);
struct str ident_ns_text(struct arena *a, struct str ns);
