/* Metadata of tables and views as bytes, an index into them, and a small head. Immutable, shared,
 * reference-counted. A load costs the bytes that travel; a commit the head, the change and one copy
 * (see draft.h). */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "err.h"
#include "str.h"

struct arena;
struct metadata;

/* What a document describes. The two have their own members and lists and share all else. */
enum metadata_kind { METADATA_TABLE, METADATA_VIEW, METADATA_KINDS };

/* One element of a long array: its text, and the scalars that rules need. */
struct part {
    const char *p;
    uint32_t n;
    bool added; /* by the draft at hand; false in finished metadata */
    int64_t id; /* snapshot-id, schema-id, spec-id, order-id, version-id */
    union {
        int64_t seq;    /* sequence-number of a snapshot (0 when absent) */
        int64_t schema; /* schema-id of a view's version */
    };
    int64_t ms;     /* timestamp-ms */
    int64_t parent; /* parent-snapshot-id, or PART_NONE */
};
enum { PART_NONE = -1 };

struct parts {
    struct part *v;
    size_t n;
};

/* The long arrays of the top object, in the order in which they are written. */
enum parts_kind {
    PARTS_SCHEMAS,         /* id: schema-id */
    PARTS_SPECS,           /* id: spec-id */
    PARTS_ORDERS,          /* id: order-id */
    PARTS_SNAPSHOTS,       /* id: snapshot-id, seq, ms, parent */
    PARTS_STATISTICS,      /* id: snapshot-id */
    PARTS_PARTITION_STATS, /* id: snapshot-id */
    PARTS_KEYS,            /* encryption-keys; id unused */
    PARTS_SNAPSHOT_LOG,    /* id: snapshot-id, ms */
    PARTS_METADATA_LOG,    /* ms */
    PARTS_VERSIONS,        /* of a view. id: version-id, schema, ms */
    PARTS_VERSION_LOG,     /* of a view. id: version-id, ms */
    PARTS_COUNT
};
extern const char *const parts_names[PARTS_COUNT]; /* "schemas", "partition-specs", … */

/* The small members. Numbers that a file lacks have their defaults of format version 1. */
struct head {
    int64_t format_version;
    struct str uuid; /* absent only in old v1 files */
    struct str location;
    int64_t last_sequence_number;
    int64_t last_updated_ms;
    int64_t last_column_id;
    int64_t current_schema_id;
    int64_t default_spec_id;
    int64_t last_partition_id;
    int64_t default_order_id;
    int64_t current_snapshot_id; /* PART_NONE: none */
    int64_t next_row_id;         /* v3 */
    int64_t current_version_id;  /* of a view */
    json_t *properties;          /* object of strings; borrowed from its metadata or draft */
    json_t *refs;                /* object */
};

enum { METADATA_USUAL_MAX = 256 << 20 /* bytes of a document */ };

enum variant { VARIANT_ALL, VARIANT_REFS }; /* loadTable's snapshots parameter */

/* From the bytes of a metadata file (gzip is recognised by content), validated as a whole: syntax,
 * required members of the format version, integers, uniqueness of ids, refs against snapshots
 * (protocol: reading, final validations). v1 files are brought to the list form. `location` is
 * where the file lies. The result owns what it needs; *bytes stays the caller's. ERR_BAD_REQUEST /
 * ERR_INVALID_ARGUMENT with the place and the reason; ERR_TOO_LARGE for a file or an unpacked size
 * above the limits. */
MUST bool metadata_from_file(
    struct str bytes, struct str location, struct metadata **out, struct err *err);
/* The same with another limit than the usual one for the unpacked text. */
MUST bool metadata_from_file_max(
    struct str bytes, struct str location, size_t max, struct metadata **out, struct err *err);

/* The first member that only tables, or only views, have tells which of them the file describes. */
enum metadata_kind metadata_kind(const struct metadata *m);

struct metadata *metadata_ref(struct metadata *m);
void metadata_unref(struct metadata **m);
/* Borrowed until the arena is reset; takes the caller's reference over. */
const struct metadata *metadata_hold(struct arena *a, struct metadata *m_take);

const struct head *metadata_head(const struct metadata *m);
const struct parts *metadata_parts(const struct metadata *m, enum parts_kind kind);
/* The text of a top-level member as written, or absent. */
struct str metadata_member(const struct metadata *m, const char *name);
struct str metadata_location(const struct metadata *m);
/* The part of that id; NULL: none. */
const struct part *metadata_find(const struct metadata *m, enum parts_kind kind, int64_t id);

/* The document a client gets, as pieces whose bytes live as long as the metadata (the text of the
 * file as it is, for VARIANT_ALL; without snapshots that no ref names, for VARIANT_REFS). The array
 * is in the arena. The refs variant is made once and kept. */
size_t metadata_document(
    struct arena *a, const struct metadata *m, enum variant v, struct str **pieces);
/* Does the document hold that text, spelled so, anywhere? */
bool metadata_holds(const struct metadata *m, struct str text);
/* The same document as a raw deflate segment ended by a full flush, with the CRC-32 and size of its
 * plain text, made once and kept, from the second asking on, or from the first when the document is
 * too large for the cache; false before that, and when it is too small to be worth it. */
struct deflated {
    struct str segment;
    uint32_t crc;
    size_t plain;
};
bool metadata_deflated(const struct metadata *m, enum variant v, struct deflated *out);
/* Would that make it now, and take too long for a lane that never blocks? */
bool metadata_pack_blocks(const struct metadata *m, enum variant v);
/* The document as a gzip file, for tables that ask for compressed metadata. In the arena. */
struct str metadata_gzip(struct arena *a, const struct metadata *m);
/* Is it what the pointer of that object means? A name of a file can be used again, so only if the
 * object, whose id grows with time, was there when the file was read or written. */
bool metadata_serves(const struct metadata *m, int64_t object, struct str uuid);
/* It was read or written for that object, or for those whose ids are below the bound. */
void metadata_set_bound(const struct metadata *m, int64_t bound);
void metadata_set_read_for(const struct metadata *m, int64_t object, struct str uuid);
/* Weak entity tag with quotes, of the pointer, the uuid and the variant: W/"…". Lives as long as
 * the metadata. */
struct str metadata_etag(const struct metadata *m, enum variant v);
/* The same tag from what a row says, so that a 304 needs no metadata. */
struct str metadata_etag_of(
    struct arena *a, struct str metadata_location, struct str uuid, enum variant v);
/* Memory it takes, for the cache. */
size_t metadata_cost(const struct metadata *m);

/* For draft.c only: metadata from freshly written bytes and an index made on the way. Takes all. */
struct metadata_new {
    enum metadata_kind kind;
    char *bytes; /* xmalloc */
    size_t n;
    struct head head; /* references to properties and refs are taken over; strings are copied */
    struct parts parts[PARTS_COUNT]; /* xmalloc, pointing into bytes; taken over */
    struct str location;
    struct member_slice {
        struct str key, value;
    } * members; /* xmalloc; taken over */
    size_t n_members;
};
struct metadata *metadata_from_draft(struct metadata_new *take);
/* For draft.c only: all members of the top object as written, so that unknown ones travel on.
 * Borrowed. */
size_t metadata_members(const struct metadata *m, const struct member_slice **out);
