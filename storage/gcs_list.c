#include "gcs_priv.h"

#include "arena.h"
#include "base.h"
#include "clock.h"

#include <jansson.h>

enum { PAGE = 1000, PAGE_BODY_MAX = 8 * 1024 * 1024 };

/* What the objects of a list lie beneath. */
struct listing {
    struct gcs *gcs;
    const struct place *p;
    struct str folder; /* as the caller spelled it, without slash */
    struct str prefix; /* of the names, with a slash */
};

static struct str text(const json_t *v)
{
    return (struct str){json_string_value(v), json_string_length(v)};
}

static void keep(
    const struct listing *l, struct str name, const json_t *object, struct entries *out)
{
    int64_t size = 0;
    if (!str_starts(name, l->prefix) || name.n == l->prefix.n || out->n >= out->limit)
        return;
    bool is_folder = str_ends(name, STR("/"));
    if (is_folder ? out->what != LIST_FOLDERS : !entries__wanted(out, name))
        return;
    struct str rest = str_sub(name, l->prefix.n, name.n - l->prefix.n - (is_folder ? 1 : 0));
    struct str uri = arena_printf(out->a, "%.*s/%.*s", STR_ARG(l->folder), STR_ARG(rest));
    (void)str_to_i64(text(json_object_get(object, "size")), &size);
    entries__add(out, uri, size, clock_parse(text(json_object_get(object, "updated"))));
}

static void keep_page(const struct listing *l, const json_t *page, struct entries *out)
{
    const json_t *items = json_object_get(page, "items");
    const json_t *prefixes = json_object_get(page, "prefixes");
    for (size_t i = 0; i < json_array_size(items); i++) {
        const json_t *object = json_array_get(items, i);
        keep(l, text(json_object_get(object, "name")), object, out);
    }
    for (size_t i = 0; i < json_array_size(prefixes); i++)
        keep(l, text(json_array_get(prefixes, i)), NULL, out);
}

static void page_free(json_t **page)
{
    json_decref(*page);
}

/* *page: a reference. */
static bool fetch_page(const struct listing *l, struct arena *a, const struct entries *e,
    struct str token, json_t **page, struct err *err)
{
    AUTO(fetch_response_fini) struct fetch_response rs = {0};
    struct str bucket = gcs__bucket(l->p->root);
    struct gcs_call call = {
        .method = "GET",
        .uri = l->p->uri,
        .missing = GCS_NO_BUCKET, /* a folder without objects is listed, too */
        .max_body = PAGE_BODY_MAX,
        .deadline_us = clock_mono_us() + l->gcs->deadline_us,
        .path = arena_printf(a,
            "/storage/v1/b/%.*s/"
            "o?fields=items(name%%2Csize%%2Cupdated)%%2Cprefixes%%2CnextPageToken"
            "&maxResults=%d&prefix=%.*s%s%s%.*s",
            STR_ARG(bucket), PAGE, STR_ARG(str_pct_encode(a, l->prefix, "")),
            e->what == LIST_FOLDERS ? "&delimiter=%2F" : "", token.n > 0 ? "&pageToken=" : "",
            STR_ARG(str_pct_encode(a, token, ""))),
    };
    TRY(gcs__send(l->gcs, a, &call, &rs, err));
    if (rs.status != 200)
        return gcs__fail(&call, &rs, err);
    *page = json_loadb(rs.body.p ? rs.body.p : "", rs.body.n, 0, NULL);
    return json_is_object(*page) || err_set(err, ERR_INTERNAL,
                                        "listing %.*s: expected a JSON object, found something "
                                        "else",
                                        STR_ARG(l->p->uri));
}

bool gcs__list(struct store *s, const struct place *p, struct entries *out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new(); /* tokens */
    struct listing l = {.gcs = s->gcs, .p = p, .folder = p->uri};
    struct str token = {NULL, 0};
    l.prefix = *p->rel ? arena_printf(a, "%s/", p->rel) : STR("");
    while (str_ends(l.folder, STR("/")))
        l.folder.n--;
    for (;;) {
        AUTO(arena_free) struct arena *one = arena_new_secret();
        AUTO(page_free) json_t *page = NULL;
        TRY(fetch_page(&l, one, out, token, &page, err));
        keep_page(&l, page, out);
        struct str next = text(json_object_get(page, "nextPageToken"));
        if (next.n == 0 || out->n >= out->limit)
            return true;
        if (str_eq(next, token))
            return err_set(err, ERR_INTERNAL, "listing %.*s: the store does not say how to go on",
                STR_ARG(p->uri));
        token = arena_dup(a, next);
    }
}
