/* Times as HTTP writes them: "Tue, 15 Nov 1994 08:12:31 GMT". */
#pragma once

#include <stdint.h>

#include "str.h"

struct arena;

/* Milliseconds since the epoch; 0 when it is no such time. */
int64_t httpdate_parse(struct str s);
struct str httpdate_text(struct arena *a, int64_t ms);
