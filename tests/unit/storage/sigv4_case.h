/* A request to be signed, written as "name: value" lines; for the vectors and for the judge. */
#pragma once

#include "arena.h"
#include "sigv4.h"

#include <stdbool.h>

enum { CASE_HEADERS = 16 };

struct sigv4_case {
    struct sigv4_key key;
    struct sigv4_request request;
    struct fetch_header headers[CASE_HEADERS];
    struct str signed_headers; /* expected */
    struct str signature;      /* expected */
};

/* Takes one case off *text: lines up to an empty one. False: there is none left. Lines that begin
 * with '#' say where the case comes from. "key-hex" is an object's key, not yet encoded. */
bool sigv4_case_read(struct arena *a, struct str *text, struct sigv4_case *out);
