/* The files that a table's metadata names: in its log, its statistics, its snapshots, and all that
 * these lead to. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "str.h"

struct arena;
struct catalog;
struct hashes;
struct metadata;
struct store;

/* What was read of a table before. Snapshots up to the sequence number were, if they have a parent:
 * a commit gives such a one a higher number than any before. The others, those of format version 1
 * among them, go by their ids; of the rest the ids tell whether a new one comes from one that was
 * read. */
struct named_mark {
    int64_t sequence_number;
    const int64_t *snapshots; /* the oldest first */
    int64_t *sorted;          /* the same */
    size_t n;
    const int64_t
        *adders; /* of manifests that were read, gone by then or another table's; sorted */
    size_t n_adders;
};
struct named_ids {
    int64_t *v; /* room for NAMED_IDS_MAX */
    size_t n;
};
enum { NAMED_IDS_MAX = 4096 };
/* From its text, and as text. All in the arena. */
struct named_mark named_mark_read(struct arena *a, int64_t sequence_number, struct str snapshots);
struct str named_mark_text(struct arena *a, const struct named_mark *mark);
/* The mark when, after `mark`, this metadata has been read, and manifests of these adders. */
struct named_mark named_mark_next(struct arena *a, const struct named_mark *mark,
    const struct metadata *m, const struct named_ids *adders);

struct named_by {
    struct catalog *catalog;       /* whose store has the files */
    struct catalog *other;         /* whose has what lies elsewhere; or NULL */
    const struct named_mark *mark; /* what it covers is passed over */
    struct named_ids *adders;      /* gets those of manifests that are read; or NULL */
    struct hashes *seen; /* manifests and lists read before, kept by the caller; or NULL */
    /* Before each request to the store, and for each name; false: the walk ends. */
    bool (*go_on)(void *arg);
    bool (*take)(void *arg, struct str uri);
    void *arg;
};
enum named_end {
    NAMED_ALL,     /* but what nobody can read: missing or damaged files, told in the log */
    NAMED_STOPPED, /* by go_on or take */
    NAMED_UNKNOWN, /* what *err tells of could not be read, now or here */
};
/* Are files of the table encrypted, so that what looks damaged may be whole to others? */
bool named_is_sealed(const struct metadata *m);
/* A name may come several times. */
enum named_end named_files(const struct named_by *by, const struct metadata *m, struct err *err);

/* Does *err tell of a local file that is missing together with its folder? So it looks where a
 * volume is not mounted, which says nothing of the file; *err then says that. */
bool named_is_lost(struct store *store, struct str uri, struct err *err);

/* The metadata at uri; NULL with NAMED_ALL: nobody can read it, *err says why. Blocks. */
enum named_end named_metadata(
    const struct named_by *by, struct str uri, struct metadata **out, struct err *err);
