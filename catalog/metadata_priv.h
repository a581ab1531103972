/* What the files of metadata share: the object itself, what is made of it later, and the steps of
 * reading a file. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>

#include "metadata.h"
#include "ref.h"

/* What a document's properties, and its refs, may number: they are kept as trees. */
enum { METADATA_MEMBERS_MAX = 200000 };

enum { METADATA_VARIANTS = 2, METADATA_ETAG = 29 /* W/"…", 24 hexadecimal digits and a letter */ };

struct pieces {
    size_t n;
    struct str v[];
};

struct packed {
    struct deflated deflated;
    char bytes[];
};

/* Made when first asked for. Written under a lock, read without it. */
struct lazy {
    pthread_mutex_t lock;
    pthread_mutex_t packing; /* for packed alone: compressing takes long */
    atomic_size_t cost;
    struct weak *weak; /* under lock */
    _Atomic(struct pieces *) refs;
    _Atomic(struct packed *) packed[METADATA_VARIANTS];
    atomic_bool asked;      /* for a packed form, once */
    _Atomic(int64_t) bound; /* serves objects with lower ids */
    _Atomic(int64_t) other; /* and up to this one those of another uuid */
    atomic_uint finds[PARTS_COUNT];
    _Atomic(uint32_t *) sorted[PARTS_COUNT]; /* positions by ascending id */
};

/* Leads to metadata for as long as somebody else holds it. */
struct weak {
    struct ref ref;
    pthread_mutex_t lock;
    _Atomic(struct metadata *) m; /* NULL from the end of the metadata on */
};
/* A reference to the handle of m; the caller holds m. */
struct weak *metadata__weak(struct metadata *m);
/* A reference to the metadata, or NULL when it is gone. */
struct metadata *weak__metadata(struct weak *w);
static inline bool weak__is_dead(const struct weak *w)
{
    return !atomic_load_explicit(&w->m, memory_order_relaxed);
}
void weak__unref(struct weak **w);

struct metadata {
    struct ref ref;
    enum metadata_kind kind;
    char *bytes;
    size_t n;
    char *strings; /* location, head.uuid and head.location */
    struct str location;
    struct head head;
    struct parts parts[PARTS_COUNT];
    struct member_slice *members;
    size_t n_members;
    char etags[METADATA_VARIANTS][METADATA_ETAG + 1];
    struct lazy *lazy;
};

/* The next asking for a packed form counts as the second one. */
void metadata__asked(struct metadata *m);
void metadata__lazy_free(struct lazy *lazy);

/* Does it unpack to so much that it is refused, whoever wrote it? */
bool gzip__looks_like_a_bomb(size_t packed, size_t plain);
/* Unpacks one gzip member into a buffer of at most max bytes; xmalloc, the caller's.
 * ERR_BAD_REQUEST, ERR_TOO_LARGE. */
MUST bool gzip__unpack(struct str packed, size_t max, char **out, size_t *n_out, struct err *err);
static inline bool gzip__is(struct str s)
{
    return s.n >= 2 && memcmp(s.p, "\x1f\x8b", 2) == 0;
}

/* Members that have no list form yet, or that readers stumble over. */
enum metadata_fix {
    FIX_UUID = 1,
    FIX_SCHEMAS = 2,
    FIX_SPECS = 4,
    FIX_LAST_PARTITION = 8,
    FIX_ORDERS = 16,
    FIX_REFS = 32,
    FIX_NULLS = 64,
    FIX_INNER_NULLS = 128, /* in what the lists and refs hold; put right before all else */
    FIX_FIELD_IDS = 256    /* of specs in their list, from before fields had any */
};

/* Nulls first, then what rests on members. */
enum { FIX_ROUNDS = 2 };

/* What one pass over a document found. */
struct reading {
    struct metadata_new new; /* bytes not set; strings in the arena */
    struct str schema, spec; /* of format version 1 */
    struct str refs;
    unsigned fixes;
};
MUST bool metadata__read(struct arena *a, struct str text, struct reading *out, struct err *err);
/* An optional member of what lists and refs hold: null stands for its absence, and some reader
 * fails on it (Java on "parent-snapshot-id", typed ones on "doc"). */
bool metadata__may_lack(struct str key);
/* FIX_INNER_NULLS if such a member in there is null. */
MUST bool metadata__find_nulls(struct str value, unsigned *fixes, struct err *err);
/* FIX_FIELD_IDS if these fields of a partition spec have no ids. */
void metadata__find_field_ids(struct str fields, unsigned *fixes);
/* The same document with what `fixes` names put right, everything else byte for byte. */
MUST bool metadata__fix(
    const struct reading *r, struct str location, char **out, size_t *n_out, struct err *err);
/* The rules that need more than one member. Strings as above. */
MUST bool metadata__check(const struct metadata_new *new, struct err *err);
/* A member that null stands for as if it were absent, and that readers take no null for. */
bool metadata__drops_null(struct str key);
/* Is it a member that documents of that kind have? All others travel on as they are. */
bool metadata__knows(enum metadata_kind kind, struct str key);
/* How many versions a view keeps, from its properties. ERR_INVALID_ARGUMENT for a number that no
 * reader of the view would take. */
MUST bool metadata__versions_kept(const json_t *properties, int64_t *out, struct err *err);
