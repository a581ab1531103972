/* Places of files that arrive in a request or in a file to be registered. Engines read and write
 * there with whatever rights they have, and this server writes its metadata and reads in a purge.
 */
#include "arena.h"
#include "catalog_priv.h"
#include "client_setting.h"
#include "folders.h"
#include "part_text.h"
#include "sql_purge.h"
#include "update_priv.h"

/* The members of elements of the long arrays that hold one place, or an array of them. */
static const struct {
    enum parts_kind in;
    const char *member;
} members[] = {
    {PARTS_SNAPSHOTS,       "manifest-list"  },
    {PARTS_SNAPSHOTS,       "manifests"      }, /* of version 1 */
    {PARTS_STATISTICS,      "statistics-path"},
    {PARTS_PARTITION_STATS, "statistics-path"},
};

/* write.data.path, write.metadata.path, the older write.object-storage.path and
 * write.folder-storage.path, and what there will be of the kind. */
static bool is_folder(struct str property)
{
    return str_starts(property, STR("write.")) && str_ends(property, STR(".path"));
}

/* -- Noting them ------------------------------------------------------------------------------- */

static void note(struct draft *d, struct draft_uri uri)
{
    struct draft_uris *l = &d->uris;
    if (l->n == l->cap) {
        size_t cap = l->cap ? l->cap * 2 : 8;
        struct draft_uri *v = ARENA_ARRAY(d->arena, struct draft_uri, cap);
        if (l->n)
            memcpy(v, l->v, l->n * sizeof(*v));
        l->v = v;
        l->cap = cap;
    }
    l->v[l->n++] = uri;
}

void draft__note_uris(struct draft *d, enum parts_kind kind, struct at at)
{
    for (size_t i = 0; i < ARRAY_LEN(members); i++) {
        const json_t *found =
            members[i].in == kind ? json_object_get(at.json, members[i].member) : NULL;
        struct draft_uri uri = {.where = at.pointer, .member = members[i].member};
        size_t k;
        json_t *one;
        if (json_is_string(found)) {
            uri.uri = json_text(found);
            note(d, uri);
        }
        json_array_foreach(found, k, one)
        {
            uri.uri = json_text(one);
            note(d, uri);
        }
    }
}

void draft__note_properties(struct draft *d, struct at properties)
{
    const char *key;
    json_t *value;
    json_object_foreach(json_lend(properties.json), key, value)
    {
        note(d, (struct draft_uri){json_text(value), properties.pointer, key,
                    is_folder(str_from(key)) ? DRAFT_URI_FOLDER : DRAFT_PROPERTY});
    }
}

/* -- Judging them ------------------------------------------------------------------------------ */

enum { NAMED_MAX = 100, ASKED_MAX = 1000, MANY = 100 };

/* Places of one draft on their way. There may be hundreds of thousands, mostly of few folders. */
struct judge {
    struct arena *a;
    const struct catalog *c;
    const struct draft *d;
    struct arena *scratch;    /* of one place */
    struct location own, was; /* the object's; absent: none */
    struct location *folders; /* that properties name, as they will be and were; NULL: not read */
    size_t n_folders;
    struct sql_folder free; /* the one of the last file, if that may lie there */
    size_t asked;           /* how often the database was */
};

/* New files of one object among those of another would be taken for its own, and deleted with them
 * in a purge. */
static bool check_free(struct judge *j, struct str uri, struct err *err)
{
    struct location at;
    struct sql_place place;
    struct str ignored, other;
    TRY(location_parse(j->scratch, uri, &at, err));
    if (location_within(&at, &j->own))
        return true;
    if (!place__check(j->scratch, j->c, uri, &ignored, &place, err)) {
        err_clear(err); /* the base itself, in which no object lies */
        return true;
    }
    if (j->asked++ == ASKED_MAX)
        return err_set(err, ERR_INVALID_ARGUMENT,
            "Invalid location: more than %d folders outside of the object's own", ASKED_MAX);
    if (!sql_place_live(j->scratch, j->c->sql, &place, &other, err))
        return catalog__change_failed(err);
    if (!other.p || other.n > place.path.n) /* tables may lie in it */
        return true;
    return err_set(err, ERR_INVALID_ARGUMENT,
        "Invalid location: expected a folder of the object's own, found %.*s, which lies in the "
        "location of another table or view",
        STR_ARG(uri));
}

static bool lies_in_named(const struct judge *j, const struct location *at)
{
    for (size_t i = 0; i < j->n_folders; i++)
        if (location_within(at, &j->folders[i]))
            return true;
    return false;
}

static bool read_folders(struct judge *j, const struct head *head, struct err *err)
{
    const char *key;
    json_t *value;
    struct err ignored;
    size_t n = 0;
    json_object_foreach(json_lend(head->properties), key, value)
    {
        if (!is_folder(str_from(key)))
            continue;
        if (n++ == NAMED_MAX)
            return err_set(err, ERR_INVALID_ARGUMENT,
                "More than %d properties of the table name folders (write.*.path)", NAMED_MAX);
        if (location_parse(j->a, json_text(value), &j->folders[j->n_folders], &ignored))
            j->n_folders++;
    }
    return true;
}

static bool need_folders(struct judge *j, const struct head *was, struct err *err)
{
    if (j->folders)
        return true;
    j->folders = ARENA_ARRAY(j->a, struct location, (size_t)2 * NAMED_MAX);
    TRY(read_folders(j, &j->d->head, err));
    return was->properties == j->d->head.properties || read_folders(j, was, err);
}

static bool is_last(const struct judge *j, const struct sql_folder *folder)
{
    return str_eq(j->free.authority, folder->authority) && str_eq(j->free.path, folder->path);
}

/* Files of one folder come together. */
static bool check_folder_free(
    struct judge *j, const struct location *at, struct str uri, struct err *err)
{
    struct sql_folder folder = folder_of_file(at);
    if (is_last(j, &folder))
        return true;
    TRY(check_free(j, uri, err));
    j->free = (struct sql_folder){arena_dup(j->a, folder.authority), arena_dup(j->a, folder.path)};
    return true;
}

/* Where the table kept its metadata before, as its log tells, which is where manifest lists were
 * written too: the commit was begun before the table moved, or its write.metadata.path did. */
static bool lies_in_former(const struct location *at, const struct metadata *base)
{
    AUTO(arena_free) struct arena *a = arena_new();
    const struct parts *log = metadata_parts(base, PARTS_METADATA_LOG);
    const struct sql_folder folder = folder_of_file(at);
    struct location before;
    struct str uri;
    struct err ignored;
    for (size_t i = 0; i < log->n; i++) {
        arena_reset(a);
        if (!part_text(a, &log->v[i], "metadata-file", &uri) ||
            !location_parse(a, uri, &before, &ignored))
            continue;
        const struct sql_folder then = folder_of_file(&before);
        if (str_eq(then.path, folder.path) && str_eq(then.authority, folder.authority))
            return true;
    }
    return false;
}

/* What a commit brings in was written by it: to the table's location, or to a folder that the
 * table has for that, as it was or as it will be. What comes with a file to be registered may have
 * a longer history. */
static bool check_file(struct judge *j, struct str uri, struct err *err)
{
    const struct draft *d = j->d;
    const struct head *was = d->base ? metadata_head(d->base) : &d->head;
    struct location at;
    TRY(location_parse(j->scratch, uri, &at, err));
    if (location_within(&at, &j->own) || location_within(&at, &j->was))
        return true;
    TRY(need_folders(j, was, err));
    if (lies_in_named(j, &at))
        return check_folder_free(j, &at, uri, err);
    if (d->base && lies_in_former(&at, d->base)) /* who refreshes writes to the new place */
        return err_set(err, ERR_COMMIT_FAILED,
            "The table has moved since this commit was begun: expected a file in its location "
            "%.*s, found %.*s; refresh and try again",
            STR_ARG(d->head.location), STR_ARG(uri));
    return err_set(err, ERR_INVALID_ARGUMENT,
        "Invalid location: expected a file in the table's location %.*s or in a folder that one of "
        "its properties write.*.path names, found %.*s",
        STR_ARG(d->head.location), STR_ARG(uri));
}

static bool is_allowed(const struct catalog *c, struct str key)
{
    for (const char *const *p = c->allowed_properties; p && *p; p++)
        if (str_fits(key, str_from(*p)))
            return true;
    return false;
}

static bool check_property(const struct catalog *c, const char *name, struct err *err)
{
    struct str key = str_from(name);
    if (!client_setting(key, CLIENT_SETTING_OF_TABLE) || is_allowed(c, key))
        return true;
    return err_set(err, ERR_INVALID_ARGUMENT,
        "Property %s cannot be set: clients would take it for a setting of their own "
        "(FIRN_ALLOWED_PROPERTIES may allow it)",
        name);
}

static bool check_one(struct judge *j, const struct draft_uri *uri, struct err *err)
{
    if (uri->of == DRAFT_PROPERTY)
        return check_property(j->c, uri->member, err);
    if (!store_check_new(j->scratch, j->c->store, uri->uri, err))
        return err_as(err, ERR_INVALID_ARGUMENT);
    return uri->of == DRAFT_URI_FILE ? check_file(j, uri->uri, err) : check_free(j, uri->uri, err);
}

bool uris__check(struct arena *a, const struct catalog *c, const struct draft *d, struct err *err)
{
    AUTO(arena_free) struct arena *scratch = d->uris.n > MANY ? arena_new() : NULL;
    struct judge j = {.a = a, .c = c, .d = d, .scratch = scratch ? scratch : a};
    struct err ignored;
    if (d->uris.n == 0)
        return true;
    (void)!location_parse(a, d->head.location, &j.own, &ignored);
    if (d->base)
        (void)!location_parse(a, metadata_head(d->base)->location, &j.was, &ignored);
    for (size_t i = 0; i < d->uris.n; i++) {
        const struct draft_uri *uri = &d->uris.v[i];
        if (scratch)
            arena_reset(scratch);
        if (!check_one(&j, uri, err))
            return err_where(err, "%.*s/%s", STR_ARG(uri->where), uri->member);
    }
    return true;
}

/* The places that a member of an element names. */
struct named {
    struct arena *scratch;
    const struct catalog *c;
    const char *list, *member;
    size_t i; /* the element */
    struct err *err;
};

static bool check_named(void *arg, struct str uri)
{
    const struct named *n = arg;
    if (store_check_new(n->scratch, n->c->store, uri, n->err))
        return true;
    err_as(n->err, ERR_INVALID_ARGUMENT);
    return err_where(n->err, "/%s/%zu/%s", n->list, n->i, n->member);
}

/* Elements of a file, of which there may be many thousands, are read where they are. */
static bool check_parts(struct arena *scratch, const struct catalog *c, const struct metadata *m,
    enum parts_kind kind, const char *member, struct err *err)
{
    const struct parts *parts = metadata_parts(m, kind);
    struct named n = {scratch, c, parts_names[kind], member, 0, err};
    struct str uri;
    for (; n.i < parts->n; n.i++) {
        const struct part *part = &parts->v[n.i];
        arena_reset(scratch);
        if (part_text(scratch, part, member, &uri))
            TRY(check_named(&n, uri));
        else
            TRY(part_texts(scratch, part, member, check_named, &n));
    }
    return true;
}

static bool check_own_properties(
    struct arena *a, const struct catalog *c, const struct metadata *m, struct err *err)
{
    struct draft d = {.arena = a};
    draft__note_properties(&d, (struct at){metadata_head(m)->properties, STR("/properties")});
    d.head.location = metadata_head(m)->location;
    return uris__check(a, c, &d, err);
}

bool uris__check_all(
    struct arena *a, const struct catalog *c, const struct metadata *m, struct err *err)
{
    AUTO(arena_free) struct arena *scratch = arena_new();
    TRY(check_own_properties(a, c, m, err));
    for (size_t i = 0; i < ARRAY_LEN(members); i++)
        TRY(check_parts(scratch, c, m, members[i].in, members[i].member, err));
    return true;
}
