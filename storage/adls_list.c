#include "adls_priv.h"

#include "arena.h"
#include "base.h"
#include "clock.h"
#include "httpdate.h"
#include "xml.h"

enum { PAGE = 1000, PAGE_BODY_MAX = 8 * 1024 * 1024 };

/* One entry of a page. */
struct object {
    struct str name;
    int64_t size, modified_ms;
    enum { OBJECT_FILE, OBJECT_DIRECTORY, OBJECT_PREFIX } what;
};

struct page {
    struct str next; /* marker; empty on the last page */
    struct object *objects;
    size_t n;
};

static void take_property(const struct xml *x, struct object *o)
{
    if (str_eq(x->name, STR("Content-Length")))
        (void)str_to_i64(x->text, &o->size);
    else if (str_eq(x->name, STR("Last-Modified")))
        o->modified_ms = httpdate_parse(x->text);
    else if (str_eq(x->name, STR("ResourceType")) && str_eq(x->text, STR("directory")))
        o->what = OBJECT_DIRECTORY;
}

static void take_element(const struct xml *x, struct page *page)
{
    struct object *o = &page->objects[page->n];
    struct str parent = x->depth > 0 ? x->names[x->depth - 1] : STR("");
    bool blob = str_eq(x->name, STR("Blob")), prefix = str_eq(x->name, STR("BlobPrefix"));
    if (x->depth == 1 && str_eq(x->name, STR("NextMarker"))) {
        page->next = x->text;
    } else if (x->depth == 2 && (blob || prefix) && page->n < PAGE) {
        if (prefix)
            o->what = OBJECT_PREFIX;
        page->n++;
    } else if (x->depth == 3 && str_eq(x->name, STR("Name"))) {
        o->name = x->text;
    } else if (x->depth == 4 && str_eq(parent, STR("Properties"))) {
        take_property(x, o);
    } else if (x->depth == 4 && str_eq(parent, STR("Metadata"))) {
        bool yes = str_eq_nocase(x->name, STR("hdi_isfolder")) && str_eq(x->text, STR("true"));
        o->what = yes ? OBJECT_DIRECTORY : o->what; /* older versions say it here only */
    }
}

static bool read_page(struct arena *a, struct str doc, struct page *page, struct err *err)
{
    struct str mark = STR("\xef\xbb\xbf"); /* Azure's documents begin with it */
    struct xml x;
    enum xml_event e;
    *page = (struct page){.objects = ARENA_ARRAY(a, struct object, PAGE + 1)};
    if (str_starts(doc, mark))
        doc = str_sub(doc, mark.n, doc.n);
    xml_init(&x, a, doc);
    do {
        TRY(xml_next(&x, &e, err));
        if (e == XML_CLOSE)
            take_element(&x, page);
    } while (e != XML_DONE);
    return str_eq(x.name, STR("EnumerationResults")) ||
           err_set(err, ERR_INTERNAL, "expected EnumerationResults, found %.*s", STR_ARG(x.name));
}

/* What a list is made of. */
struct listing {
    const struct place *place;
    struct str folder; /* as the caller spelled it, without slash at its end */
    struct str prefix; /* of the keys */
    struct entries *out;
};

static void keep_objects(const struct page *page, const struct listing *l)
{
    struct entries *out = l->out;
    for (size_t i = 0; i < page->n && out->n < out->limit; i++) {
        const struct object *o = &page->objects[i];
        struct str key = o->name;
        if (!str_starts(key, l->prefix) || key.n == l->prefix.n)
            continue;
        if (out->what == LIST_FOLDERS ? o->what != OBJECT_PREFIX
                                      : o->what != OBJECT_FILE || !entries__wanted(out, key))
            continue;
        struct str rest = str_sub(key, l->prefix.n, key.n);
        while (str_ends(rest, STR("/")))
            rest.n--;
        struct str uri = arena_printf(out->a, "%.*s/%.*s", STR_ARG(l->folder), STR_ARG(rest));
        entries__add(out, uri, o->size, o->modified_ms);
    }
}

/* The page behind the marker; the first one when that is empty. */
static bool fetch_page(struct adls *s, struct arena *a, const struct listing *l, struct str marker,
    struct page *page, struct err *err)
{
    AUTO(fetch_response_fini) struct fetch_response rs = {0};
    struct adls_call call = {
        .method = "GET",
        .container = adls__place(l->place->at.authority).container,
        .max_body = PAGE_BODY_MAX,
        .deadline_us = clock_mono_us() + s->deadline_us,
    };
    bool folders = l->out->what == LIST_FOLDERS;
    call.query = arena_printf(a,
        "comp=list%s&include=metadata%s%.*s&maxresults=%d%s%.*s&restype="
        "container",
        folders ? "&delimiter=%2F" : "", marker.n > 0 ? "&marker=" : "",
        STR_ARG(str_pct_encode(a, marker, "")), PAGE, l->prefix.n > 0 ? "&prefix=" : "",
        STR_ARG(str_pct_encode(a, l->prefix, "")));
    TRY(adls__send(s, a, &call, &rs, err));
    if (rs.status != 200)
        return adls__fail(s, &call, &rs, err);
    /* The page's strings outlive the body. */
    return read_page(a, buf_take(&rs.body, a), page, err) ||
           err_wrap(err, "listing %.*s", STR_ARG(l->place->uri));
}

bool adls__list(struct store *s, const struct place *p, struct entries *out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new(); /* markers */
    struct listing l = {.place = p,
        .folder = p->uri,
        .prefix = *p->rel ? arena_printf(a, "%s/", p->rel) : STR(""),
        .out = out};
    struct str marker = STR("");
    while (str_ends(l.folder, STR("/")))
        l.folder.n--;
    for (;;) {
        AUTO(arena_free) struct arena *one = arena_new();
        struct page page = {0};
        TRY(fetch_page(s->adls, one, &l, marker, &page, err));
        keep_objects(&page, &l);
        if (page.next.n == 0 || out->n >= out->limit)
            return true;
        if (str_eq(page.next, marker))
            return err_set(err, ERR_INTERNAL, "listing %.*s: the store does not say how to go on",
                STR_ARG(p->uri));
        marker = arena_dup(a, page.next);
    }
}
