#include "draft.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>

#include "arena.h"
#include "buf.h"
#include "clock.h"
#include "metric.h"
#include "schema.h"
#include "update_priv.h"
#include "uuid.h"

enum { FRAGMENT_MAX = 1 << 30, TREE_CHAINS = 512, NAMED_MAX = 1000 };

struct draft_guess {
    struct draft_guess *older;
    enum parts_kind kind;
    int64_t said, is;
};

struct draft_tree {
    struct draft_tree *next;
    const char *text;
    json_t *tree;
};

/* -- Beginning --------------------------------------------------------------------------------- */

static int64_t max(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t tail_ms(const struct parts *log)
{
    return log->n ? log->v[log->n - 1].ms : INT64_MIN;
}

/* Clocks of several servers differ, and readers refuse a file that is older than its logs. */
static int64_t commit_time(const struct metadata *base)
{
    int64_t ms = clock_ms();
    if (!base)
        return ms;
    ms = max(ms, metadata_head(base)->last_updated_ms);
    ms = max(ms, tail_ms(metadata_parts(base, PARTS_SNAPSHOT_LOG)));
    return max(ms, tail_ms(metadata_parts(base, PARTS_METADATA_LOG)));
}

static struct draft *draft_new(struct arena *a, const struct metadata *base)
{
    struct draft *d = ARENA_NEW(a, struct draft);
    d->arena = a;
    d->base = base;
    d->now_ms = commit_time(base);
    d->last_schema = d->last_spec = d->last_order = d->last_version = PART_NONE;
    return d;
}

struct draft *draft_begin(struct arena *a, const struct metadata *base)
{
    struct draft *d = draft_new(a, base);
    d->kind = metadata_kind(base);
    d->at = STR("");
    d->head = *metadata_head(base);
    for (int k = 0; k < PARTS_COUNT; k++) {
        d->parts[k] = *metadata_parts(base, (enum parts_kind)k);
        d->cap[k] = d->parts[k].n;
    }
    return d;
}

static struct draft *begin_new(struct arena *a, enum metadata_kind kind, int64_t format_version)
{
    struct draft *d = draft_new(a, NULL);
    char uuid[UUID_TEXT + 1];
    uuid_v4(uuid);
    d->kind = kind;
    d->at = STR("");
    d->head = (struct head){
        .format_version = format_version,
        .uuid = arena_dup(a, str_from(uuid)),
        .current_snapshot_id = PART_NONE,
        .properties = json_hold(a, json_object()),
        .refs = json_hold(a, json_object()),
    };
    d->properties_own = d->refs_own = true;
    for (int k = 0; k < PARTS_COUNT; k++)
        d->parts_own[k] = true;
    return d;
}

struct draft *draft_begin_empty(struct arena *a, int64_t format_version)
{
    if (format_version < 1 || format_version > FORMAT_VERSION_MAX)
        format_version = FORMAT_VERSION_DEFAULT;
    return begin_new(a, METADATA_TABLE, format_version);
}

struct draft *draft_begin_view(struct arena *a)
{
    return begin_new(a, METADATA_VIEW, VIEW_FORMAT_VERSION_MAX);
}

/* The first thing that a create commit did not bring, or NULL. */
static const char *missing_part(struct draft *d)
{
    if (!d->parts[PARTS_SCHEMAS].n)
        return "no schema was added";
    if (!d->parts[PARTS_SPECS].n)
        return "no partition spec was added";
    if (!d->parts[PARTS_ORDERS].n)
        return "no sort order was added";
    if (!d->head.location.p)
        return "no location was set";
    if (!draft_find(d, PARTS_SCHEMAS, d->head.current_schema_id))
        return "the current schema was not set";
    if (!draft_find(d, PARTS_SPECS, d->head.default_spec_id))
        return "the default partition spec was not set";
    if (!draft_find(d, PARTS_ORDERS, d->head.default_order_id))
        return "the default sort order was not set";
    return NULL;
}

bool draft_check_complete(struct draft *d, struct err *err)
{
    const char *missing = missing_part(d);
    return !missing || err_set(err, ERR_INVALID_ARGUMENT,
                           "Cannot create the table, the updates are incomplete: %s", missing);
}

/* -- Copy on write ----------------------------------------------------------------------------- */

static json_t *own_object(struct draft *d, json_t **object, bool *own)
{
    if (!*own) {
        *object = json_hold(d->arena, *object ? json_copy(*object) : json_object());
        *own = true;
    }
    return *object;
}

json_t *draft_properties(struct draft *d)
{
    return own_object(d, &d->head.properties, &d->properties_own);
}

json_t *draft_refs(struct draft *d)
{
    return own_object(d, &d->head.refs, &d->refs_own);
}

/* -- Elements by id -----------------------------------------------------------------------------
 */

/* Positions plus one, 0 where there is none; of two elements with one id the first. */
struct draft_index {
    bool holds; /* false: the array was changed, and the memory is kept for the next one */
    uint64_t seed;
    size_t n, mask;
    uint32_t slots[];
};

enum { LOOKS_FEW = 16, INDEX_ROOM = 256 };

/* Who chooses the ids must not choose the slots: the finalizer of MurmurHash3. */
static size_t mixed(uint64_t h)
{
    h ^= h >> 33;
    h *= UINT64_C(0xff51afd7ed558ccd);
    h ^= h >> 33;
    h *= UINT64_C(0xc4ceb9fe1a85ec53);
    return (size_t)(h ^ h >> 33);
}

/* The slot with the id, or the free one where it belongs. */
static uint32_t *index_slot(struct draft *d, enum parts_kind kind, int64_t id)
{
    struct draft_index *x = d->index[kind];
    size_t at = mixed((uint64_t)id ^ x->seed);
    for (; x->slots[at & x->mask]; at++) {
        if (d->parts[kind].v[x->slots[at & x->mask] - 1].id == id)
            break;
        d->work++;
    }
    return &x->slots[at & x->mask];
}

static void index_add(struct draft *d, enum parts_kind kind, size_t i)
{
    uint32_t *slot = index_slot(d, kind, d->parts[kind].v[i].id);
    if (*slot)
        return;
    *slot = (uint32_t)i + 1;
    d->index[kind]->n++;
}

static void index_make(struct draft *d, enum parts_kind kind)
{
    size_t n = d->parts[kind].n, cap = INDEX_ROOM;
    struct draft_index *x = d->index[kind];
    while (cap < 4 * n)
        cap *= 2;
    if (x && x->mask >= cap - 1)
        cap = x->mask + 1;
    else
        x = arena_alloc(d->arena, sizeof(*x) + cap * sizeof(x->slots[0]));
    memset(x, 0, sizeof(*x) + cap * sizeof(x->slots[0]));
    uuid_random(&x->seed, sizeof(x->seed));
    x->mask = cap - 1;
    x->holds = true;
    d->index[kind] = x;
    d->work += n + cap / 16; /* to clear one is cheap, but not for nothing */
    for (size_t i = 0; i < n; i++)
        index_add(d, kind, i);
}

static bool has_index(const struct draft *d, enum parts_kind kind)
{
    return d->index[kind] && d->index[kind]->holds;
}

static void index_forget(struct draft *d, enum parts_kind kind)
{
    if (d->index[kind])
        d->index[kind]->holds = false;
}

/* Room for one more, in an array of our own. */
static void make_room(struct draft *d, enum parts_kind kind)
{
    struct parts *p = &d->parts[kind];
    if (d->parts_own[kind] && p->n < d->cap[kind])
        return;
    size_t cap = p->n + p->n / 8 + 8;
    struct part *v = arena_alloc(d->arena, arena_times(sizeof(*v), cap));
    if (p->n)
        memcpy(v, p->v, p->n * sizeof(*v));
    p->v = v;
    d->cap[kind] = cap;
    d->parts_own[kind] = true;
}

struct parts *draft_own(struct draft *d, enum parts_kind kind)
{
    if (!d->parts_own[kind])
        make_room(d, kind);
    index_forget(d, kind);
    return &d->parts[kind];
}

struct part *draft_append(struct draft *d, enum parts_kind kind, struct part part)
{
    make_room(d, kind);
    struct parts *p = &d->parts[kind];
    part.added = true;
    p->v[p->n++] = part;
    if (has_index(d, kind) && 2 * d->index[kind]->n > d->index[kind]->mask)
        index_forget(d, kind);
    else if (has_index(d, kind))
        index_add(d, kind, p->n - 1);
    return &p->v[p->n - 1];
}

struct part *draft_append_tree(
    struct draft *d, enum parts_kind kind, struct part part, json_t *tree_take)
{
    struct str text = draft_dump(d, json_hold(d->arena, tree_take));
    part.p = text.p;
    part.n = (uint32_t)text.n;
    return draft_append(d, kind, part);
}

struct part *draft_find(struct draft *d, enum parts_kind kind, int64_t id)
{
    struct parts *p = &d->parts[kind];
    /* Most requests look for one or two. */
    if (has_index(d, kind) || ++d->looks[kind] > LOOKS_FEW) {
        if (!has_index(d, kind))
            index_make(d, kind);
        uint32_t slot = *index_slot(d, kind, id);
        return slot ? &p->v[slot - 1] : NULL;
    }
    d->work += p->n;
    for (size_t i = 0; i < p->n; i++) {
        if (p->v[i].id == id)
            return &p->v[i];
    }
    return NULL;
}

void draft_put(struct draft *d, enum parts_kind kind, struct part part)
{
    struct part *there = draft_find(d, kind, part.id);
    if (!there) {
        draft_append(d, kind, part);
        return;
    }
    size_t i = (size_t)(there - d->parts[kind].v);
    if (!d->parts_own[kind])
        make_room(d, kind);
    part.added = true;
    d->parts[kind].v[i] = part;
}

size_t draft_remove(struct draft *d, enum parts_kind kind, const struct id_list *sorted)
{
    size_t i = 0, n, before = d->parts[kind].n;
    d->work += before;
    while (i < before && !id_list_has_sorted(sorted, d->parts[kind].v[i].id))
        i++;
    if (i == before)
        return 0;
    struct parts *p = draft_own(d, kind);
    for (n = i; i < p->n; i++) {
        if (!id_list_has_sorted(sorted, p->v[i].id))
            p->v[n++] = p->v[i];
    }
    p->n = n;
    return before - n;
}

void draft__log_snapshot(struct draft *d, int64_t snapshot_id, int64_t ms)
{
    struct str text = arena_printf(d->arena, "{\"timestamp-ms\":%lld,\"snapshot-id\":%lld}",
        (long long)ms, (long long)snapshot_id);
    draft_append(d, PARTS_SNAPSHOT_LOG,
        (struct part){
            .p = text.p, .n = (uint32_t)text.n, .id = snapshot_id, .ms = ms, .parent = PART_NONE});
}

/* -- Ids --------------------------------------------------------------------------------------- */

void id_list_add(struct arena *a, struct id_list *l, int64_t id)
{
    if (l->n == l->cap) {
        size_t cap = l->cap ? 2 * l->cap : 16;
        int64_t *v = ARENA_ARRAY(a, int64_t, cap);
        if (l->n)
            memcpy(v, l->v, l->n * sizeof(*v));
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = id;
}

static int cmp_id(const void *a, const void *b)
{
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

void id_list_sort(struct id_list *l)
{
    if (l->n)
        qsort(l->v, l->n, sizeof(*l->v), cmp_id);
}

bool id_list_has_sorted(const struct id_list *l, int64_t id)
{
    return l->n && bsearch(&id, l->v, l->n, sizeof(*l->v), cmp_id);
}

bool id_list_has(const struct id_list *l, int64_t id)
{
    for (size_t i = 0; i < l->n; i++) {
        if (l->v[i] == id)
            return true;
    }
    return false;
}

bool draft__count_named(struct draft *d, enum parts_kind kind, struct err *err)
{
    if (++d->named[kind] <= NAMED_MAX)
        return true;
    return err_set(err, ERR_BAD_REQUEST, "More than %d additions to %s in one request", NAMED_MAX,
        parts_names[kind]);
}

void draft__note_guess(struct draft *d, enum parts_kind kind, const json_t *said, int64_t is)
{
    if (!json_is_integer(said) || json_integer_value(said) == is)
        return;
    struct draft_guess *g = ARENA_NEW(d->arena, struct draft_guess);
    *g = (struct draft_guess){d->guesses, kind, json_integer_value(said), is};
    d->guesses = g;
}

int64_t draft__resolve_guess(const struct draft *d, enum parts_kind kind, int64_t said)
{
    for (const struct draft_guess *g = d->guesses; g; g = g->older) {
        if (g->kind == kind && g->said == said)
            return g->is;
    }
    return said;
}

/* -- Trees and texts --------------------------------------------------------------------------- */

static struct draft_tree **chain_of(const struct draft *d, const char *text)
{
    return &d->trees[mixed((uintptr_t)text) & (d->tree_chains - 1)];
}

static void trees_grow(struct draft *d)
{
    struct draft_tree **old = d->trees;
    size_t n = d->tree_chains;
    d->tree_chains = n ? 4 * n : TREE_CHAINS;
    d->trees = ARENA_ARRAY(d->arena, struct draft_tree *, d->tree_chains);
    for (size_t i = 0; i < n; i++)
        while (old[i]) {
            struct draft_tree *t = old[i], **chain = chain_of(d, t->text);
            old[i] = t->next;
            t->next = *chain;
            *chain = t;
        }
}

const json_t *draft_tree(struct draft *d, const struct part *part)
{
    if (d->n_trees >= d->tree_chains)
        trees_grow(d);
    struct draft_tree **chain = chain_of(d, part->p);
    for (const struct draft_tree *t = *chain; t; t = t->next) {
        if (t->text == part->p)
            return t->tree;
    }
    metric_add(METRIC_json_parses_total, 1);
    struct draft_tree *t = ARENA_NEW(d->arena, struct draft_tree);
    t->text = part->p;
    t->tree = json_hold(d->arena, json_loadb(part->p, part->n, 0, NULL));
    t->next = *chain;
    *chain = t;
    d->n_trees++;
    return t->tree;
}

/* For one schema at a time: with its names in full it may be much larger than its text. */
static struct arena *schema_arena(struct draft *d)
{
    if (!d->schema_arena)
        d->schema_arena = arena_within(d->arena);
    d->schema_text = NULL;
    arena_reset(d->schema_arena);
    return d->schema_arena;
}

bool draft_schema(struct draft *d, struct schema **out, struct err *err)
{
    const struct part *version = draft_find(d, PARTS_VERSIONS, d->head.current_version_id);
    int64_t id = version ? version->schema : d->head.current_schema_id;
    const struct part *part = draft_find(d, PARTS_SCHEMAS, id);
    if (!part)
        return err_set(err, ERR_VALIDATION, "There is no current schema: add a schema first");
    if (d->schema_text != part->p) {
        const json_t *tree = draft_tree(d, part);
        if (!tree)
            return err_set(err, ERR_VALIDATION,
                "The schema with id %lld holds a number beyond 64 bits", (long long)part->id);
        TRY(schema_read(schema_arena(d), tree, (struct str){0}, &d->schema, err));
        d->schema_text = part->p;
    }
    *out = d->schema;
    return true;
}

static void dump(struct buf *b, const json_t *v);

/* The shortest decimal that reads back as the same number, and as a number with a fraction. */
static void dump_real(struct buf *b, double v)
{
    char text[40];
    for (int digits = 15; digits <= 17; digits++) {
        snprintf(text, sizeof(text), "%.*g", digits, v);
        json_t *again = json_loads(text, JSON_DECODE_ANY, NULL);
        bool same = json_number_value(again) == v;
        json_decref(again);
        if (same)
            break;
    }
    buf_puts(b, text);
    if (!strpbrk(text, ".e"))
        buf_puts(b, ".0");
}

static void dump_object(struct buf *b, const json_t *v)
{
    const char *key, *separator = "";
    json_t *member;
    buf_putc(b, '{');
    json_object_foreach(json_lend(v), key, member)
    {
        if (json_is_null(member))
            continue;
        buf_puts(b, separator);
        buf_json_str(b, str_from(key));
        buf_putc(b, ':');
        dump(b, member);
        separator = ",";
    }
    buf_putc(b, '}');
}

static void dump_array(struct buf *b, const json_t *v)
{
    buf_putc(b, '[');
    for (size_t i = 0; i < json_array_size(v); i++) {
        if (i)
            buf_putc(b, ',');
        dump(b, json_array_get(v, i));
    }
    buf_putc(b, ']');
}

/* Recursion is bounded by the depth to which bodies are admitted. */
static void dump(struct buf *b, const json_t *v)
{
    switch (json_typeof(v)) {
    case JSON_OBJECT:
        dump_object(b, v);
        break;
    case JSON_ARRAY:
        dump_array(b, v);
        break;
    case JSON_STRING:
        buf_json_str(b, json_text(v));
        break;
    case JSON_INTEGER:
        buf_json_i64(b, json_integer_value(v));
        break;
    case JSON_REAL:
        dump_real(b, json_real_value(v));
        break;
    case JSON_TRUE:
        buf_puts(b, "true");
        break;
    case JSON_FALSE:
        buf_puts(b, "false");
        break;
    case JSON_NULL:
    default:
        buf_puts(b, "null");
        break;
    }
}

struct str draft_dump(struct draft *d, const json_t *tree)
{
    struct buf b;
    metric_add(METRIC_json_dumps_total, 1);
    buf_init(&b, FRAGMENT_MAX);
    dump(&b, tree);
    assert(!b.over);
    return buf_take(&b, d->arena);
}
