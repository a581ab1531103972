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

struct places {
    struct location *v;
    size_t n, cap;
};

/* The files of a draft and where they may lie. The places are read once, at the first file: a
 * request may bring as many files as a table may have folders. */
struct judging {
    struct arena *a;
    const struct catalog *c;
    const struct draft *d;
    bool placed;
    struct places own;   /* the table's location, as it was and as it will be */
    struct places named; /* folders that the table has for files, as before */
};

static void add_place(struct arena *a, struct places *p, struct str folder)
{
    struct location at;
    struct err ignored;
    if (!folder.n || !location_parse(a, folder, &at, &ignored))
        return;
    if (p->n == p->cap) {
        size_t cap = p->cap ? 2 * p->cap : 8;
        struct location *v = ARENA_ARRAY(a, struct location, cap);
        if (p->n)
            memcpy(v, p->v, p->n * sizeof(*v));
        p->v = v;
        p->cap = cap;
    }
    p->v[p->n++] = at;
}

static void add_places(struct judging *j, const struct head *head)
{
    const char *key;
    json_t *value;
    add_place(j->a, &j->own, head->location);
    json_object_foreach(json_lend(head->properties), key, value)
    {
        if (is_folder(str_from(key)))
            add_place(j->a, &j->named, json_text(value));
    }
}

static bool lies_in(const struct location *at, const struct places *p)
{
    for (size_t i = 0; i < p->n; i++)
        if (location_within(at, &p->v[i]))
            return true;
    return false;
}

/* New files of one object among those of another would be taken for its own, and deleted with it.
 */
static bool check_free(
    struct arena *a, const struct catalog *c, struct str own, struct str uri, struct err *err)
{
    struct location at, mine;
    struct sql_place place;
    struct str ignored, other;
    TRY(location_parse(a, uri, &at, err));
    if (own.p && location_parse(a, own, &mine, err) && location_within(&at, &mine))
        return true;
    if (!place__check(a, c, uri, &ignored, &place, err)) {
        err_clear(err); /* the base itself, in which no object lies */
        return true;
    }
    if (!sql_place_live(a, c->sql, &place, &other, err))
        return catalog__change_failed(err);
    if (!other.p || other.n > place.path.n) /* tables may lie in it */
        return true;
    return err_set(err, ERR_INVALID_ARGUMENT,
        "Invalid location: expected a folder of the object's own, found %.*s, which lies in the "
        "location of another table or view",
        STR_ARG(uri));
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
static bool check_file(struct judging *j, struct str uri, struct err *err)
{
    const struct draft *d = j->d;
    struct location at;
    TRY(location_parse(j->a, uri, &at, err));
    if (!j->placed) {
        add_places(j, &d->head);
        if (d->base)
            add_places(j, metadata_head(d->base));
        j->placed = true;
    }
    if (lies_in(&at, &j->own))
        return true;
    if (lies_in(&at, &j->named))
        return check_free(j->a, j->c, d->head.location, uri, err);
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

static bool check_one(struct judging *j, const struct draft_uri *uri, struct err *err)
{
    if (uri->of == DRAFT_PROPERTY)
        return check_property(j->c, uri->member, err);
    if (!store_check_new(j->a, j->c->store, uri->uri, err))
        return err_as(err, ERR_INVALID_ARGUMENT);
    return uri->of == DRAFT_URI_FILE ? check_file(j, uri->uri, err)
                                     : check_free(j->a, j->c, j->d->head.location, uri->uri, err);
}

bool uris__check(struct arena *a, const struct catalog *c, const struct draft *d, struct err *err)
{
    struct judging j = {.a = a, .c = c, .d = d};
    for (size_t i = 0; i < d->uris.n; i++) {
        const struct draft_uri *uri = &d->uris.v[i];
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
