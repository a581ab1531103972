/* A commit by slices against the same commit on the whole tree: the updates that can be carried out
 * in a few plain lines on a tree are, and both documents must say the same. And against a commit by
 * slices on another spelling of the same base, for all updates. */
#include <jansson.h>

#include "arena.h"
#include "base.h"
#include "clock.h"
#include "draft.h"
#include "fuzz.h"
#include "metadata.h"
#include "op.h"
#include "scan.h"
#include "update.h"

#define NOW   1700000000000
#define PLACE "s3://b/t/metadata/00001-x.metadata.json"
#define NEXT  "s3://b/t/metadata/00002-y.metadata.json"

#define SNAP(id, more)                                                                             \
    "{\"snapshot-id\":" #id ",\"sequence-number\":" #id ",\"timestamp-ms\":1000," more             \
    "\"summary\":{\"operation\":\"append\"},\"manifest-list\":\"s3://b/" #id ".avro\"}"
#define TABLE(version, numbers, snapshots)                                                         \
    "{\"format-version\":" #version ",\"table-uuid\":\"11111111-1111-4111-8111-111111111111\","    \
    "\"odd\":[\"\\u0041 \\/ \\ud83d\\ude00\",1.5,-0,1e3,null,{\"a\\\"\":[]}]," numbers             \
    "\"location\":\"s3://b/t\",\"last-updated-ms\":1000,\"last-column-id\":2,\"schemas\":["        \
    "{\"type\":\"struct\",\"schema-id\":0,\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":true," \
    "\"type\":\"long\"},{\"id\":2,\"name\":\"\\u00e9\",\"required\":false,\"type\":\"string\"}]}," \
    "{\"type\":\"struct\",\"schema-id\":1,\"fields\":[{\"id\":1,\"name\":\"a\",\"required\":true," \
    "\"type\":\"long\"}]},{\"type\":\"struct\",\"schema-id\":2,\"fields\":[]}],"                   \
    "\"current-schema-id\":0,\"partition-specs\":[{\"spec-id\":0,\"fields\":[]},{\"spec-id\":1,"   \
    "\"fields\":[{\"name\":\"p\",\"transform\":\"bucket[4]\",\"source-id\":1,\"field-id\":1000}]"  \
    "}],\"default-spec-id\":0,\"last-partition-id\":1000,\"sort-orders\":[{\"order-id\":0,"        \
    "\"fields\":[]},{\"order-id\":1,\"fields\":[{\"transform\":\"identity\",\"source-id\":1,"      \
    "\"direction\":\"asc\",\"null-order\":\"nulls-first\"}]}],\"default-sort-order-id\":0,"        \
    "\"properties\":{\"k\":\"v\",\"write.metadata.previous-versions-max\":\"3\"},"                 \
    "\"current-snapshot-id\":2,\"refs\":{\"main\":{\"snapshot-id\":2,\"type\":\"branch\"},"        \
    "\"old\":{\"snapshot-id\":1,\"type\":\"tag\"}},\"snapshots\":[" snapshots "],"                 \
    "\"statistics\":[{\"snapshot-id\":1,\"statistics-path\":\"s3://b/"                             \
    "s\",\"file-size-in-bytes\":1,"                                                                \
    "\"file-footer-size-in-bytes\":1,\"blob-metadata\":[]}],\"snapshot-log\":[{\"timestamp-ms\":"  \
    "1000,\"snapshot-id\":1},{\"timestamp-ms\":1000,\"snapshot-id\":2}],\"metadata-log\":["        \
    "{\"timestamp-ms\":900,\"metadata-file\":\"s3://b/t/metadata/a\"},{\"timestamp-ms\":950,"      \
    "\"metadata-file\":\"s3://b/t/metadata/b\"},{\"timestamp-ms\":960,\"metadata-file\":"          \
    "\"s3://b/t/metadata/c\"}]}"

static const char *const bases[] = {
    TABLE(2, "\"last-sequence-number\":2,", SNAP(1, "") "," SNAP(2, "\"parent-snapshot-id\":1,")),
    TABLE(3, "\"last-sequence-number\":2,\"next-row-id\":20,",
        SNAP(1, "\"first-row-id\":0,\"added-rows\":10,") "," SNAP(
            2, "\"first-row-id\":10,\"added-rows\":10,")),
    TABLE(1, "\"schema\":{\"type\":\"struct\",\"fields\":[]},",
        "{\"snapshot-id\":1,\"timestamp-ms\":1000,\"manifests\":[\"s3://b/m\"]},"
        "{\"snapshot-id\":2,\"timestamp-ms\":1000,\"manifest-list\":\"s3://b/2.avro\"}"),
    "{\"view-uuid\":\"11111111-1111-4111-8111-111111111111\",\"format-version\":1,\"location\":"
    "\"s3://b/t\",\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":[]}],"
    "\"current-version-id\":1,\"versions\":[{\"version-id\":1,\"timestamp-ms\":1000,\"schema-id\":"
    "0,"
    "\"summary\":{},\"default-namespace\":[\"a\"],\"representations\":[{\"type\":\"sql\",\"sql\":"
    "\"select 1\",\"dialect\":\"spark\"}]}],\"version-log\":[{\"timestamp-ms\":1000,\"version-id\":"
    "1}],\"properties\":{\"k\":\"v\"},\"odd\":[1.0]}",
};

/* -- The whole tree -----------------------------------------------------------------------------
 */

struct tree {
    json_t *t;
    json_t *added;   /* ids of new snapshots */
    json_t *mains;   /* ids that main was set to, in this order */
    bool removed;    /* snapshots */
    bool unmodelled; /* an update that this does not know */
};

static json_int_t int_of(const json_t *object, const char *name)
{
    return json_integer_value(json_object_get(object, name));
}

static bool holds(const json_t *list, json_int_t id)
{
    size_t i;
    json_t *v;
    json_array_foreach(list, i, v) if (json_integer_value(v) == id) return true;
    return false;
}

static bool given(const json_t *object, const char *name)
{
    const json_t *v = json_object_get(object, name);
    return v && !json_is_null(v);
}

/* Objects are kept without members that are null. */
static json_t *clean(const json_t *v)
{
    const char *key;
    size_t i;
    json_t *m, *out;
    if (json_is_array(v)) {
        out = json_array();
        json_array_foreach(v, i, m) json_array_append_new(out, clean(m));
        return out;
    }
    if (!json_is_object(v))
        return json_deep_copy(v);
    out = json_object();
    json_object_foreach((json_t *)(uintptr_t)v, key, m) if (!json_is_null(m))
        json_object_set_new(out, key, clean(m));
    return out;
}

/* The list, made when there is none. */
static json_t *list(struct tree *t, const char *name)
{
    if (!json_is_array(json_object_get(t->t, name)))
        json_object_set_new(t->t, name, json_array());
    return json_object_get(t->t, name);
}

static size_t find(const json_t *items, const char *name, json_int_t id)
{
    size_t i = 0;
    while (i < json_array_size(items) && int_of(json_array_get(items, i), name) != id)
        i++;
    return i;
}

static void remove_all(json_t *items, const char *name, const json_t *ids)
{
    for (size_t i = json_array_size(items); i-- > 0;)
        if (holds(ids, int_of(json_array_get(items, i), name)))
            json_array_remove(items, i);
}

static void drop_ref(struct tree *t, const char *name)
{
    bool is_main = strcmp(name, "main") == 0;
    if (json_object_del(json_object_get(t->t, "refs"), name) == 0 && is_main)
        json_object_set_new(t->t, "current-snapshot-id", json_integer(-1));
}

static void set_properties(struct tree *t, const json_t *u)
{
    static const char reserved[] =
        " format-version uuid snapshot-count current-snapshot-id current-snapshot-summary "
        "current-snapshot-timestamp-ms current-schema default-partition-spec default-sort-order ";
    const char *key;
    json_t *v;
    json_t *map = json_object_get(u, given(u, "updates") ? "updates" : "updated");
    json_object_foreach(map, key, v)
    {
        char word[64] = " ";
        size_t n = strlen(key);
        if (n < sizeof(word) - 3) {
            memcpy(word + 1, key, n);
            word[n + 1] = ' ';
        }
        if (n == 0 || n >= sizeof(word) - 3 || strchr(key, ' ') || !strstr(reserved, word))
            json_object_set(json_object_get(t->t, "properties"), key, v);
    }
}

static void remove_properties(struct tree *t, const json_t *u)
{
    size_t i;
    json_t *key;
    json_array_foreach(json_object_get(u, given(u, "removals") ? "removals" : "removed"), i, key)
        json_object_del(json_object_get(t->t, "properties"), json_string_value(key));
}

static void set_location(struct tree *t, const json_t *u)
{
    struct str s = str_from(json_string_value(json_object_get(u, "location")));
    while (str_ends(s, STR("/")) && !str_ends(s, STR("://")))
        s.n--;
    json_object_set_new(t->t, "location", json_stringn(s.p, s.n));
}

static void upgrade(struct tree *t, const json_t *u)
{
    json_int_t from = int_of(t->t, "format-version"), to = int_of(u, "format-version");
    json_object_set_new(t->t, "format-version", json_integer(to));
    if (from < 2 && to >= 2 && !json_object_get(t->t, "last-sequence-number"))
        json_object_set_new(t->t, "last-sequence-number", json_integer(0));
    if (from < 3 && to >= 3)
        json_object_set_new(t->t, "next-row-id", json_integer(0));
}

static void add_snapshot(struct tree *t, const json_t *u)
{
    json_t *s = clean(json_object_get(u, "snapshot"));
    json_int_t seq = int_of(s, "sequence-number");
    if (seq == 0)
        json_object_del(s, "sequence-number");
    if (int_of(s, "parent-snapshot-id") == -1)
        json_object_del(s, "parent-snapshot-id");
    if (seq > int_of(t->t, "last-sequence-number"))
        json_object_set_new(t->t, "last-sequence-number", json_integer(seq));
    if (int_of(t->t, "format-version") >= 3)
        json_object_set_new(
            t->t, "next-row-id", json_integer(int_of(s, "first-row-id") + int_of(s, "added-rows")));
    json_array_append_new(t->added, json_integer(int_of(s, "snapshot-id")));
    json_array_append_new(list(t, "snapshots"), s);
}

static void set_ref(struct tree *t, const json_t *u)
{
    static const char *const numbers[] = {
        "snapshot-id", "min-snapshots-to-keep", "max-snapshot-age-ms", "max-ref-age-ms"};
    const char *name = json_string_value(json_object_get(u, "ref-name"));
    const char *type = json_string_value(json_object_get(u, "type"));
    json_t *refs = json_object_get(t->t, "refs"), *ref = json_object();
    for (size_t i = 0; i < ARRAY_LEN(numbers); i++)
        if (given(u, numbers[i]) && (i == 0 || int_of(u, numbers[i]) != -1))
            json_object_set(ref, numbers[i], json_object_get(u, numbers[i]));
    bool tag = type[0] == 't' || type[0] == 'T';
    json_object_set_new(ref, "type", json_string(tag ? "tag" : "branch"));
    bool same = json_equal(json_object_get(refs, name), ref);
    json_object_set_new(refs, name, ref);
    if (same || strcmp(name, "main") != 0)
        return;
    json_int_t id = int_of(ref, "snapshot-id");
    const json_t *all = json_object_get(t->t, "snapshots");
    json_int_t ms = holds(t->added, id)
                        ? int_of(json_array_get(all, find(all, "snapshot-id", id)), "timestamp-ms")
                        : NOW;
    json_object_set_new(t->t, "current-snapshot-id", json_integer(id));
    json_array_append_new(t->mains, json_integer(id));
    json_array_append_new(
        list(t, "snapshot-log"), json_pack("{s:I,s:I}", "timestamp-ms", ms, "snapshot-id", id));
}

static void remove_ref(struct tree *t, const json_t *u)
{
    drop_ref(t, json_string_value(json_object_get(u, "ref-name")));
}

static void remove_snapshots(struct tree *t, const json_t *u)
{
    const json_t *ids = json_object_get(u, "snapshot-ids");
    json_t *gone = json_array(), *ref, *s;
    const char *name;
    void *next;
    size_t i;
    json_array_foreach(
        json_object_get(t->t, "snapshots"), i, s) if (holds(ids, int_of(s, "snapshot-id")))
        json_array_append(gone, json_object_get(s, "snapshot-id"));
    t->removed = t->removed || json_array_size(gone) > 0;
    remove_all(json_object_get(t->t, "snapshots"), "snapshot-id", gone);
    remove_all(json_object_get(t->t, "statistics"), "snapshot-id", gone);
    remove_all(json_object_get(t->t, "partition-statistics"), "snapshot-id", gone);
    json_object_foreach_safe(json_object_get(t->t, "refs"), next, name,
        ref) if (holds(gone, int_of(ref, "snapshot-id"))) drop_ref(t, name);
    json_decref(gone);
}

static void put_entry(struct tree *t, const char *name, const json_t *entry)
{
    json_t *all = list(t, name);
    size_t i = find(all, "snapshot-id", int_of(entry, "snapshot-id"));
    if (i < json_array_size(all))
        json_array_set_new(all, i, clean(entry));
    else
        json_array_append_new(all, clean(entry));
}

static void remove_entry(struct tree *t, const char *name, const json_t *u)
{
    json_t *one = json_pack("[I]", int_of(u, "snapshot-id"));
    remove_all(list(t, name), "snapshot-id", one);
    json_decref(one);
}

static size_t find_key(const json_t *keys, const json_t *id)
{
    size_t i = 0;
    while (i < json_array_size(keys) &&
           !json_equal(json_object_get(json_array_get(keys, i), "key-id"), id))
        i++;
    return i;
}

static void add_key(struct tree *t, const json_t *u)
{
    const json_t *key = json_object_get(u, "encryption-key");
    json_t *keys = list(t, "encryption-keys");
    if (find_key(keys, json_object_get(key, "key-id")) == json_array_size(keys))
        json_array_append_new(keys, clean(key));
}

static void remove_key(struct tree *t, const json_t *u)
{
    json_t *keys = list(t, "encryption-keys");
    json_array_remove(keys, find_key(keys, json_object_get(u, "key-id")));
}

static void set_id(struct tree *t, const char *name, const json_t *u, const char *from)
{
    t->unmodelled = t->unmodelled || int_of(u, from) == -1;
    json_object_set(t->t, name, json_object_get(u, from));
}

static void apply(struct tree *t, const json_t *u)
{
    struct str action = str_from(json_string_value(json_object_get(u, "action")));
    if (str_eq_nocase(action, STR("set-properties")))
        set_properties(t, u);
    else if (str_eq_nocase(action, STR("remove-properties")))
        remove_properties(t, u);
    else if (str_eq_nocase(action, STR("set-location")))
        set_location(t, u);
    else if (str_eq_nocase(action, STR("upgrade-format-version")))
        upgrade(t, u);
    else if (str_eq_nocase(action, STR("add-snapshot")))
        add_snapshot(t, u);
    else if (str_eq_nocase(action, STR("set-snapshot-ref")))
        set_ref(t, u);
    else if (str_eq_nocase(action, STR("remove-snapshot-ref")))
        remove_ref(t, u);
    else if (str_eq_nocase(action, STR("remove-snapshots")))
        remove_snapshots(t, u);
    else if (str_eq_nocase(action, STR("set-statistics")))
        put_entry(t, "statistics", json_object_get(u, "statistics"));
    else if (str_eq_nocase(action, STR("remove-statistics")))
        remove_entry(t, "statistics", u);
    else if (str_eq_nocase(action, STR("set-partition-statistics")))
        put_entry(t, "partition-statistics", json_object_get(u, "partition-statistics"));
    else if (str_eq_nocase(action, STR("remove-partition-statistics")))
        remove_entry(t, "partition-statistics", u);
    else if (str_eq_nocase(action, STR("remove-schemas")))
        remove_all(list(t, "schemas"), "schema-id", json_object_get(u, "schema-ids"));
    else if (str_eq_nocase(action, STR("remove-partition-specs")))
        remove_all(list(t, "partition-specs"), "spec-id", json_object_get(u, "spec-ids"));
    else if (str_eq_nocase(action, STR("add-encryption-key")))
        add_key(t, u);
    else if (str_eq_nocase(action, STR("remove-encryption-key")))
        remove_key(t, u);
    else if (str_eq_nocase(action, STR("set-current-schema")))
        set_id(t, "current-schema-id", u, "schema-id");
    else if (str_eq_nocase(action, STR("set-default-spec")))
        set_id(t, "default-spec-id", u, "spec-id");
    else if (str_eq_nocase(action, STR("set-default-sort-order")))
        set_id(t, "default-sort-order-id", u, "sort-order-id");
    else if (!str_eq_nocase(action, STR("assign-uuid")))
        t->unmodelled = true;
}

/* What was current only in between leaves the history, and so does all before a gap. */
static void correct_log(struct tree *t)
{
    json_int_t current = int_of(t->t, "current-snapshot-id");
    json_t *log = list(t, "snapshot-log"), *kept = json_array(), *between = json_array(), *v;
    size_t i;
    json_array_foreach(t->mains, i,
        v) if (holds(t->added, json_integer_value(v)) && json_integer_value(v) != current)
        json_array_append(between, v);
    if (json_array_size(between) > 0 || t->removed) {
        const json_t *all = json_object_get(t->t, "snapshots");
        json_array_foreach(log, i, v)
        {
            json_int_t id = int_of(v, "snapshot-id");
            bool exists = find(all, "snapshot-id", id) < json_array_size(all);
            if (!exists && t->removed)
                json_array_clear(kept);
            else if (exists && !holds(between, id))
                json_array_append(kept, v);
        }
        json_object_set(t->t, "snapshot-log", kept);
    }
    json_decref(kept);
    json_decref(between);
}

static json_int_t last_ms(const json_t *log)
{
    size_t n = json_array_size(log);
    return n ? int_of(json_array_get(log, n - 1), "timestamp-ms") : 0;
}

/* A line never lies more than a minute before the one above it. */
static void order_log(json_t *log)
{
    json_int_t before = 0;
    size_t i;
    json_t *v;
    json_array_foreach(log, i, v)
    {
        json_int_t ms = int_of(v, "timestamp-ms");
        if (i > 0 && before >= INT64_MIN + 60000 && ms < before - 60000)
            json_object_set_new(v, "timestamp-ms", json_integer(before));
        before = int_of(v, "timestamp-ms");
    }
}

static void finish(struct tree *t, bool log_changed)
{
    json_t *log = list(t, "metadata-log");
    struct str text = str_from(json_string_value(json_object_get(
        json_object_get(t->t, "properties"), "write.metadata.previous-versions-max")));
    int64_t max;
    if (!text.p || !str_to_i64(text, &max))
        max = 100;
    correct_log(t);
    if (log_changed)
        order_log(list(t, "snapshot-log"));
    json_array_append_new(
        log, json_pack("{s:I,s:s}", "timestamp-ms", (json_int_t)1000, "metadata-file", PLACE));
    while (json_array_size(log) > 1 && (int64_t)json_array_size(log) > max)
        json_array_remove(log, 0);
    json_int_t ms = last_ms(list(t, "snapshot-log"));
    json_object_set_new(t->t, "last-updated-ms", json_integer(ms > NOW ? ms : NOW));
}

/* Lists that a document always has; what only some versions have. */
static void complete(struct tree *t)
{
    json_int_t version = int_of(t->t, "format-version");
    (void)list(t, "statistics");
    (void)list(t, "partition-statistics");
    if (json_array_size(json_object_get(t->t, "encryption-keys")) == 0)
        json_object_del(t->t, "encryption-keys");
    if (version >= 3 && int_of(t->t, "current-snapshot-id") == -1)
        json_object_set_new(t->t, "current-snapshot-id", json_null());
    json_object_del(t->t, "schema");
    json_object_del(t->t, "partition-spec");
    if (version != 1)
        return;
    json_object_del(t->t, "last-sequence-number");
    const json_t *schemas = json_object_get(t->t, "schemas");
    const json_t *specs = json_object_get(t->t, "partition-specs");
    json_object_set(t->t, "schema",
        json_array_get(schemas, find(schemas, "schema-id", int_of(t->t, "current-schema-id"))));
    json_object_set(t->t, "partition-spec",
        json_object_get(
            json_array_get(specs, find(specs, "spec-id", int_of(t->t, "default-spec-id"))),
            "fields"));
}

/* NULL: there are updates that are not carried out here. */
static json_t *by_tree(const char *base, const json_t *updates)
{
    struct tree t = {.t = json_loads(base, 0, NULL), .added = json_array(), .mains = json_array()};
    size_t i;
    json_t *u;
    json_array_foreach(updates, i, u) apply(&t, u);
    finish(&t, t.removed || json_array_size(t.mains) > 0);
    complete(&t);
    json_decref(t.added);
    json_decref(t.mains);
    if (t.unmodelled) {
        json_decref(t.t);
        return NULL;
    }
    return t.t;
}

/* -- Slices -------------------------------------------------------------------------------------
 */

/* False when the commit is refused, or changes nothing: *out is NULL then. */
static bool by_slices(
    struct arena *a, struct str base, const json_t *updates, json_t **out, struct err *err)
{
    struct metadata *m = NULL, *next = NULL;
    struct err bad = {0};
    struct str *pieces;
    *out = NULL;
    FUZZ_CHECK(metadata_from_file(base, STR(PLACE), &m, &bad), bad.msg);
    struct draft *d = draft_begin(a, metadata_hold(a, m));
    TRY(updates_apply(d, updates, err));
    if (!d->changes)
        return false;
    TRY(draft_finish(d, STR(NEXT), &next, err));
    size_t n = metadata_document(a, metadata_hold(a, next), VARIANT_ALL, &pieces);
    FUZZ_CHECK(n == 1, "one piece");
    *out = json_loadb(pieces[0].p, pieces[0].n, JSON_REJECT_DUPLICATES, NULL);
    FUZZ_CHECK(*out, "what was written can be parsed");
    return true;
}

static void compare(const json_t *x, const json_t *y, const char *what)
{
    if (json_equal(x, y))
        return;
    const char *key;
    json_t *v;
    json_object_foreach((json_t *)(uintptr_t)x, key, v) if (!json_equal(v, json_object_get(y, key)))
    {
        char *l = json_dumps(v, JSON_ENCODE_ANY),
             *r = json_dumps(json_object_get(y, key), JSON_ENCODE_ANY);
        fprintf(stderr, "%s:\n  %s\n  %s\n", key, l ? l : "-", r ? r : "-");
    }
    FUZZ_CHECK(false, what);
}

/* The same document, written by another hand. */
static struct str respelled(struct arena *a, const char *base)
{
    json_t *t = json_loads(base, 0, NULL);
    char *text =
        json_dumps(t, JSON_INDENT(3) | JSON_SORT_KEYS | JSON_ENSURE_ASCII | JSON_ESCAPE_SLASH);
    FUZZ_CHECK(t && text, "a base");
    json_decref(t);
    return str_from(arena_hold(a, text, xfree));
}

static void one_base(const char *base, const json_t *updates)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct err err = {0}, other_err = {0};
    json_t *sliced, *other, *tree = NULL;
    bool ok = by_slices(a, str_from(base), updates, &sliced, &err);
    bool other_ok = by_slices(a, respelled(a, base), updates, &other, &other_err);
    FUZZ_CHECK(
        ok == other_ok && err.kind == other_err.kind, "a verdict that hangs on the spelling");
    if (ok) {
        compare(sliced, other, "another result on another spelling");
        if (json_object_get(sliced, "table-uuid"))
            tree = by_tree(base, updates);
        if (tree)
            compare(tree, sliced, "another result by tree");
    }
    json_decref(tree);
    json_decref(sliced);
    json_decref(other);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct str text = fuzz_text(data, size);
    struct err err = {0};
    clock_freeze(NOW);
    if (!scan_validate(text, &scan_body_limits, &err))
        return 0;
    json_t *body = json_loadb(text.p, text.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, NULL);
    FUZZ_CHECK(body, "what was scanned can be parsed");
    if (op_check_body(op_rows[OP_UPDATE_TABLE].body, body, &err))
        for (size_t i = 0; i < ARRAY_LEN(bases); i++)
            one_base(bases[i], json_object_get(body, "updates"));
    json_decref(body);
    return 0;
}
