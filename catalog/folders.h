/* A set of folders that stays small: when it would grow too large its members become folders above
 * them. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "hashes.h"
#include "sql_survey.h"

struct arena;
struct location;

enum {
    FOLDERS_MAX = 1024,
    FOLDER_TEXT_MAX = 1000, /* bytes of a path, which goes into an index */
};

struct folders {
    struct arena *a; /* of the texts */
    struct sql_folder v[FOLDERS_MAX];
    size_t n;
    size_t depth; /* parts that a path may have */
    struct hashes known;
};

void folders_init(struct folders *f, struct arena *a);
void folders_fini(struct folders *f);
/* Or, where its path is too long, one above it. */
void folders_add(struct folders *f, struct sql_folder folder);
bool folders_has(const struct folders *f, struct sql_folder folder);

/* The folder that a file lies in; the top is "". */
struct sql_folder folder_of_file(const struct location *file);
uint64_t folder_hash(struct sql_folder at);
