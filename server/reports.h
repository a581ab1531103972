/* The last scan and commit reports that engines sent, for an administrator to read. */
#pragma once

#include <jansson.h>

#include "base.h"
#include "buf.h"
#include "ident.h"

struct reports;

struct reports *reports_new(void);
void reports_free(struct reports **r);
/* Keeps the text of a report about a table and forgets the oldest; a long one is only counted. */
void reports_keep(struct reports *r, const struct ident *table, struct str text);
/* {"reports":[{"received-ms":…,"namespace":[…],"table":…,"report":…}, …]}, the newest first. */
void reports_render(struct reports *r, struct buf *out);
