/* Files that a change has made useless. They are gathered while it is made, and deleted once its
 * answer is out: a client must not wait for them, and what goes wrong then is nothing to it. */
#pragma once

#include "catalog.h"

struct leftover {
    struct str uri;
    int64_t object;                           /* whose log it left; 0: it was none's */
    enum { LEFT_WITHIN, LEFT_OUTSIDE } place; /* of its location */
    struct leftover *next;
};
struct leftovers {
    struct leftover *first;
    size_t n;
};

/* The lease that is taken for a file before it is deleted, and that nobody may hold when the file
 * is registered. */
struct str leftover_lease(struct arena *a, struct str uri);
/* Deletes them, but not what a pointer leads to meanwhile, or another table's metadata names;
 * *deleted: how many went. What could not be deleted, or not be judged, stays. Blocks. */
void leftovers_delete(struct catalog *c, const struct leftover *files, size_t n, size_t *deleted);
