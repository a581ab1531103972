/* The token of a change is the uuid in the name of the metadata file that was written for it. Ten
 * of its digits are the warehouse's mark, so that it knows the files that it wrote from those of
 * other catalogs, which may share a folder with it. */
#pragma once

#include "str.h"
#include "uuid.h"

/* A fresh one, a uuid of version 4. */
void token_draw(struct str warehouse_uuid, char out[static UUID_TEXT + 1]);
/* The token in the name of a metadata file that this warehouse wrote; absent: it is none. */
struct str token_of_file(struct str warehouse_uuid, struct str uri);
