#include "sql_priv.h"

#include "clock.h"
#include "uuid.h"

enum { LEVEL_END = 0x1F };

static struct sql_ns *ns_of(struct arena *a, const struct rows *r)
{
    if (r->n == 0)
        return NULL;
    struct sql_ns *ns = ARENA_NEW(a, struct sql_ns);

    ns->id = rows_i64(r, 0, NS_GET_ID);
    ns->version = rows_i64(r, 0, NS_GET_VERSION);
    ns->path = rows_str(r, 0, NS_GET_PATH);
    ns->properties = rows_str(r, 0, NS_GET_PROPERTIES);
    return ns;
}

bool sql_ns_get(struct arena *a, struct sql *s, int64_t warehouse, struct str path,
    struct sql_ns **out, struct err *err)
{
    const struct param p[] = {number_param(warehouse), text_param(path)};
    struct rows rows;

    TRY(sql__read(a, s, STMT_NS_GET, p, &rows, err));
    *out = ns_of(a, &rows);
    return true;
}

/* The same inside a unit of work. */
static bool find(struct unit *u, struct str path, struct sql_ns **out, struct err *err)
{
    const struct param p[] = {number_param(u->warehouse), text_param(path)};
    struct rows rows;

    TRY(unit_exec(u, STMT_NS_GET, p, &rows, err));
    *out = ns_of(u->a, &rows);
    return true;
}

/* --- create --- */

struct creation {
    struct str path, properties;
    bool created;
};

struct level {
    int64_t id, parent; /* parent 0: the root */
    struct str name, path, properties;
};

static bool insert_level(struct unit *u, const struct level *l, bool *inserted, struct err *err)
{
    const struct param p[] = {
        number_param(u->warehouse),
        number_param(l->id),
        l->parent ? number_param(l->parent) : text_param((struct str){NULL, 0}),
        text_param(l->name),
        text_param(l->path),
        text_param(l->properties),
    };
    struct rows rows;

    TRY(unit_exec(u, STMT_NS_INSERT, p, &rows, err));
    *inserted = rows.n == 1;
    return true;
}

/* The parents that are missing, from the top. *parent: the last one's id, 0 for the root. */
static bool make_parents(struct unit *u, struct str path, int64_t *parent, struct err *err)
{
    struct str rest = path;

    *parent = 0;
    for (;;) {
        struct str name = str_cut(&rest, LEVEL_END);
        if (!rest.p)
            return true;
        struct level l = {.id = uuid_row_id(),
            .parent = *parent,
            .name = name,
            .path = str_range(path.p, name.p + name.n),
            .properties = STR("{}")};
        struct sql_ns *there;
        bool inserted = false;

        TRY(find(u, l.path, &there, err));
        if (!there)
            TRY(insert_level(u, &l, &inserted, err));
        if (!there && !inserted)
            return err_set(err, ERR_DB_RETRY, "A parent namespace appeared meanwhile");
        *parent = there ? there->id : l.id;
    }
}

static struct str last_level(struct str path)
{
    size_t at = path.n;

    while (at > 0 && path.p[at - 1] != LEVEL_END)
        at--;
    return str_sub(path, at, path.n - at);
}

static bool create(struct unit *u, void *work, struct err *err)
{
    struct creation *c = work;
    struct level leaf = {.id = uuid_row_id(),
        .name = last_level(c->path),
        .path = c->path,
        .properties = c->properties};
    struct claim claim = {.by = u->by, .object = leaf.id, .kind = "namespace-create"};
    struct sql_ns *there = NULL;
    bool inserted;

    TRY(find(u, c->path, &there, err));
    if (there) {
        TRY(unit_abandon(u, err));
        c->created = u->end == UNIT_APPLIED;
        return true;
    }
    TRY(unit_claim(u, &claim, err));
    if (u->end == UNIT_APPLIED)
        return true;
    TRY(make_parents(u, c->path, &leaf.parent, err));
    TRY(insert_level(u, &leaf, &inserted, err));
    if (!inserted)
        return err_set(err, ERR_DB_RETRY, "The namespace appeared meanwhile");
    c->created = true;
    return true;
}

bool sql_ns_create(struct sql *s, int64_t warehouse, struct str path, struct str properties,
    const struct sql_change *by, bool *created, struct err *err)
{
    struct creation c = {.path = path, .properties = properties};
    struct unit u = {.s = s, .by = by, .warehouse = warehouse, .effect = EFFECT_WRITE};

    TRY(sql__unit(&u, create, &c, err));
    *created = c.created;
    return true;
}

/* --- properties --- */

struct setting {
    int64_t id, version;
    struct str properties;
    bool swapped;
};

static bool set_properties(struct unit *u, void *work, struct err *err)
{
    struct setting *w = work;
    struct claim claim = {.by = u->by, .object = w->id, .kind = "namespace-properties"};
    const struct param p[] = {number_param(u->warehouse), number_param(w->id),
        number_param(w->version), text_param(w->properties)};
    struct rows rows;

    TRY(unit_claim(u, &claim, err));
    if (u->end == UNIT_APPLIED)
        return true;
    TRY(unit_exec(u, STMT_NS_SET, p, &rows, err));
    w->swapped = rows.n == 1;
    u->end = w->swapped ? UNIT_COMMIT : UNIT_ABANDON;
    return true;
}

/* NOLINTNEXTLINE(readability-function-size): a key of many parts */
bool sql_ns_set_properties(struct sql *s, int64_t warehouse, int64_t id, int64_t version,
    struct str properties, const struct sql_change *by, bool *swapped, struct err *err)
{
    struct setting w = {.id = id, .version = version, .properties = properties};
    struct unit u = {.s = s, .by = by, .warehouse = warehouse, .effect = EFFECT_WRITE};

    TRY(sql__unit(&u, set_properties, &w, err));
    *swapped = w.swapped;
    return true;
}

/* --- drop --- */

struct removal {
    struct str path;
    bool dropped;
    struct sql_ns_content content;
};

static bool count_content(struct unit *u, int64_t id, struct sql_ns_content *out, struct err *err)
{
    const struct param p[] = {number_param(u->warehouse), number_param(id)};
    struct rows rows;

    TRY(unit_exec(u, STMT_NS_CONTENT, p, &rows, err));
    out->tables = rows_i64(&rows, 0, NS_CONTENT_TABLES);
    out->views = rows_i64(&rows, 0, NS_CONTENT_VIEWS);
    out->namespaces = rows_i64(&rows, 0, NS_CONTENT_NAMESPACES);
    return true;
}

/* What is created in it meanwhile makes the delete fail (foreign key), and the unit runs again. */
static bool drop(struct unit *u, void *work, struct err *err)
{
    struct removal *w = work;
    struct sql_ns *ns;

    TRY(find(u, w->path, &ns, err));
    if (!ns) {
        TRY(unit_abandon(u, err));
        w->dropped = u->end == UNIT_APPLIED;
        return true;
    }
    const struct param p[] = {number_param(u->warehouse), number_param(ns->id)};
    struct claim claim = {.by = u->by, .object = ns->id, .kind = "namespace-drop"};
    struct sql_ns_content *c = &w->content;
    struct rows rows;

    TRY(unit_claim(u, &claim, err));
    if (u->end == UNIT_APPLIED)
        return true;
    w->dropped = false;
    TRY(count_content(u, ns->id, c, err));
    if (c->tables + c->views + c->namespaces > 0) {
        u->end = UNIT_ABANDON;
        return true;
    }
    TRY(unit_exec(u, STMT_NS_DELETE, p, &rows, err));
    if (rows.n == 0)
        return err_set(err, ERR_DB_RETRY, "The namespace vanished meanwhile");
    w->dropped = true;
    return true;
}

bool sql_ns_drop(struct sql *s, int64_t warehouse, struct str path, const struct sql_change *by,
    bool *dropped, struct sql_ns_content *content, struct err *err)
{
    struct removal w = {.path = path};
    struct unit u = {.s = s, .by = by, .warehouse = warehouse, .effect = EFFECT_WRITE};

    TRY(sql__unit(&u, drop, &w, err));
    *dropped = w.dropped;
    *content = w.content;
    return true;
}

/* --- list --- */

/* NOLINTNEXTLINE(readability-function-size): a key of many parts */
bool sql_ns_page(struct arena *a, struct sql *s, int64_t warehouse, struct str parent,
    struct str after, size_t limit, struct str **names, size_t *n, bool *found, struct err *err)
{
    struct str from = after.p ? after : STR("");
    const struct param root[] = {
        number_param(warehouse), text_param(from), number_param((int64_t)limit)};
    const struct param below[] = {number_param(warehouse), text_param(parent), text_param(from),
        number_param((int64_t)limit)};
    struct sql_ns *ns;
    struct rows rows;

    if (parent.n == 0)
        TRY(sql__read(a, s, STMT_NS_PAGE_ROOT, root, &rows, err));
    else
        TRY(sql__read(a, s, STMT_NS_PAGE, below, &rows, err));
    rows_names(&rows, names, n);
    *found = true;
    if (rows.n > 0 || parent.n == 0)
        return true;
    TRY(sql_ns_get(a, s, warehouse, parent, &ns, err));
    *found = ns != NULL;
    return true;
}
