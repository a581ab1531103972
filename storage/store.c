#include "store.h"

#include "arena.h"
#include "base.h"
#include "clock.h"
#include "fault.h"
#include "lane.h"
#include "metric.h"
#include "sign_priv.h"
#include "store_priv.h"
#include "uuid.h"

#include <assert.h>
#include <time.h>
#include <unistd.h>

/* Which code holds the objects of an authority; a further kind of store is a row here, one in
 * location.c and a file. */
static const struct kind {
    const char *name;
    const char *authority; /* how it begins */
    const struct store_ops *ops;
} kinds[] = {
    {"file", "file:",    &store__file_ops},
    {"s3",   "s3://",    &store__s3_ops  },
    {"gcs",  "gs://",    &store__gcs_ops },
    {"adls", "abfss://", &store__adls_ops},
#ifdef FIRN_BENCH
    {"null", "null:",    &store__null_ops},
#endif
};

static bool is_file(const struct root *r)
{
    return r->ops == &store__file_ops;
}

static const struct kind *kind_of(const struct location *at)
{
    for (size_t i = 0; i < ARRAY_LEN(kinds); i++)
        if (str_starts(at->authority, str_from(kinds[i].authority)))
            return &kinds[i];
    return NULL;
}

const char *store_kind(struct str uri)
{
    char text[URI_TEXT];
    struct location at;
    struct err ignored;
    const struct kind *kind = location__split(uri, text, &at, &ignored) ? kind_of(&at) : NULL;
    return kind ? kind->name : NULL;
}

static bool root_open(
    struct store *s, const struct store_conf *conf, const char *uri, struct err *err)
{
    struct root *r = &s->roots[s->n_roots];
    *r = (struct root){.fd = -1};
    TRY(location__split(str_from(uri), r->text, &r->at, err));
    const struct kind *kind = kind_of(&r->at);
    assert(kind);
    r->ops = kind->ops;
    r->uri = xstrdup(uri);
    s->n_roots++;
    size_t n = strlen(r->uri);
    while (n > 1 && r->uri[n - 1] == '/')
        r->uri[--n] = '\0';
    return r->ops->open(s, conf, r, err);
}

static bool roots_open(struct store *s, const struct store_conf *conf, struct err *err)
{
    if (!root_open(s, conf, conf->base, err))
        return err_wrap(err, "The warehouse's base cannot be used");
    for (size_t i = 0; conf->allowed && conf->allowed[i]; i++)
        if (!root_open(s, conf, conf->allowed[i], err))
            return err_wrap(err, "The allowed location %s cannot be used", conf->allowed[i]);
    return true;
}

/* Java's S3FileIO takes them, others look for s3: alone. */
static bool is_hadoops(struct str uri)
{
    return str_starts(uri, STR("s3a:")) || str_starts(uri, STR("s3n:"));
}

bool store_open(const struct store_conf *conf, struct store **out, struct err *err)
{
    size_t n = 1;
    for (size_t i = 0; conf->allowed && conf->allowed[i]; i++)
        n++;
    AUTO(store_close) struct store *s = xcalloc(1, sizeof(*s));
    s->roots = xcalloc(n, sizeof(*s->roots));
    TRY(findings_named(conf->allow, &s->allow, err));
    TRY(roots_open(s, conf, err));
    s->s3_schemes = conf->s3_schemes;
    for (size_t i = 0; i < s->n_roots; i++)
        if (is_hadoops(str_from(s->roots[i].uri)))
            s->s3_schemes = STORE_SCHEMES_HADOOP;
    TRY(vend__new(s, conf, &s->vend, err));
    TRY(sign__new(s, conf, &s->sign, err));
    findings_log(store_base(s), s->allow);
    *out = TAKE(s);
    return true;
}

void store_close(struct store **s)
{
    if (!*s)
        return;
    for (size_t i = 0; i < (*s)->n_roots; i++) {
        struct root *r = &(*s)->roots[i];
        r->ops->close(r);
        xfree(r->uri);
    }
    sign__free(&(*s)->sign);
    vend__free(&(*s)->vend);
    s3__free(&(*s)->s3);
    gcs__free(&(*s)->gcs);
    adls__free(&(*s)->adls);
    xfree((*s)->roots);
    xfree((*s)->warning);
    xfree(*s);
    *s = NULL;
}

struct str store_base(const struct store *s)
{
    return str_from(s->roots[0].uri);
}

struct str store_warning(const struct store *s)
{
    return str_from(s->warning);
}

/* The innermost root that holds the location: it was opened through the links on its own way. */
static const struct root *root_of(const struct store *s, const struct location *at)
{
    assert(s->roots);
    const struct root *best = NULL;
    for (size_t i = 0; i < s->n_roots; i++) {
        const struct root *r = &s->roots[i];
        if (location_within(at, &r->at) && (!best || r->at.path.n > best->at.path.n))
            best = r;
    }
    return best;
}

bool store__place(const struct store *s, struct str uri, struct place *out, struct err *err)
{
    out->uri = uri;
    TRY(location__split(uri, out->text, &out->at, err));
    out->root = root_of(s, &out->at);
    if (!out->root)
        return err_set(err, ERR_STORE_DENIED,
            "Location not allowed: %.*s is neither beneath the warehouse's base %s nor beneath "
            "another allowed location",
            STR_ARG(uri), s->roots[0].uri);
    const char *path = out->at.path.p;
    if (!is_file(out->root)) {
        out->rel = path + 1;
        return true;
    }
    size_t skip = out->root->at.path.n == 1 ? 0 : out->root->at.path.n;
    out->rel = path[skip] == '/' ? path + skip + 1 : path + skip;
    return true;
}

bool store_check(struct arena *a, const struct store *s, struct str uri, struct err *err)
{
    (void)a;
    struct place p;
    return store__place(s, uri, &p, err);
}

bool store_check_new(struct arena *a, const struct store *s, struct str uri, struct err *err)
{
    TRY(store_check(a, s, uri, err));
    return !is_hadoops(uri) || s->s3_schemes == STORE_SCHEMES_HADOOP ||
           err_set(err, ERR_STORE_DENIED,
               "Location not allowed: expected one that begins s3:, found %.*s (hadoop-schemes in "
               "the warehouse's storage, or FIRN_S3_HADOOP_SCHEMES, lets it pass)",
               STR_ARG(uri));
}

/* Begins an operation that may block: finds the place and starts the clock. */
static bool begin(
    struct store *s, struct str uri, struct place *p, int64_t *start_us, struct err *err)
{
    assert(lane_may_block());
    TRY(store__place(s, uri, p, err));
    *start_us = clock_mono_us();
    return true;
}

static bool finish(bool ok, int64_t start_us)
{
    metric_add(METRIC_store_requests_total, 1);
    metric_observe(METRIC_store_seconds, clock_mono_us() - start_us);
    return ok;
}

bool store_get(struct store *s, struct str uri, size_t max, struct buf *out, struct err *err)
{
    buf_init(out, max);
    struct place p;
    int64_t start;
    TRY(begin(s, uri, &p, &start, err));
    if (FAULT(STORE_GET_STALL))
        clock_sleep(4000000);
    return finish(p.root->ops->get(s, &p, max, out, err), start);
}

static bool put_fails(struct str uri, struct err *err)
{
    if (FAULT(STORE_PUT_FAILS))
        return !err_set(
            err, ERR_UNAVAILABLE, "%.*s was not written: failure asked for", STR_ARG(uri));
    if (FAULT(STORE_PUT_FULL))
        return !err_set(err, ERR_STORE_FULL, "cannot write %.*s: the disk is full", STR_ARG(uri));
    return false;
}

static bool put_done(bool ok, int64_t start)
{
    if (ok && FAULT(STORE_PUT_AFTER_WRITE))
        _exit(137);
    return finish(ok, start);
}

bool store_put_new(struct store *s, struct str uri, const struct str *pieces, size_t n,
    const char *content_type, struct err *err)
{
    struct place p;
    int64_t start;
    TRY(begin(s, uri, &p, &start, err));
    if (put_fails(uri, err))
        return false;
    return put_done(p.root->ops->put_new(s, &p, pieces, n, content_type, err), start);
}

static bool put_one_by_one(
    struct store *s, struct store_file *files, size_t n, size_t *at, struct err *err)
{
    for (*at = 0; *at < n; (*at)++) {
        struct store_file *f = &files[*at];
        f->written = store_put_new(s, f->uri, f->pieces, f->n, f->content_type, err);
        if (!f->written)
            return false;
    }
    return true;
}

static bool put_some(
    struct store *s, struct store_file *files, size_t n, size_t *at, struct err *err)
{
    struct place places[PUT_AT_ONCE];
    const struct store_ops *ops = NULL;
    bool together = true;
    for (*at = 0; *at < n; (*at)++) {
        TRY(store__place(s, files[*at].uri, &places[*at], err));
        ops = places[0].root->ops;
        together = together && ops->put_all && places[*at].root->ops == ops;
    }
    if (!together)
        return put_one_by_one(s, files, n, at, err);
    int64_t start = clock_mono_us();
    size_t sound = 0;
    while (sound < n && !put_fails(files[sound].uri, err))
        sound++;
    bool ok = ops->put_all(s, places, files, sound, at, err);
    for (size_t i = 0; i < sound; i++)
        (void)put_done(ok, start);
    if (ok)
        *at = sound;
    return ok && sound == n;
}

bool store_put_all(struct store *s, struct store_file *files, size_t n, size_t *at, struct err *err)
{
    assert(lane_may_block());
    for (size_t done = 0; done < n; done += PUT_AT_ONCE) {
        size_t some = n - done < PUT_AT_ONCE ? n - done : PUT_AT_ONCE;
        bool ok = put_some(s, files + done, some, at, err);
        *at += done;
        if (!ok)
            return false;
    }
    return true;
}

/* A store without folders has nothing to do for the first. */
bool store_put_first(
    struct store *s, const struct store_file *f, const char *beside, struct err *err)
{
    struct place p;
    int64_t start;
    TRY(begin(s, f->uri, &p, &start, err));
    const struct store_ops *ops = p.root->ops;
    if (put_fails(f->uri, err))
        return false;
    return put_done(ops->put_first ? ops->put_first(s, &p, f, beside, err)
                                   : ops->put_new(s, &p, f->pieces, f->n, f->content_type, err),
        start);
}

bool store_delete(struct store *s, struct str uri, struct err *err)
{
    struct place p;
    int64_t start;
    TRY(begin(s, uri, &p, &start, err));
    if (FAULT(STORE_DELETE_BEFORE))
        _exit(137);
    if (FAULT(STORE_DELETE_FAILS))
        return err_set(
            err, ERR_UNAVAILABLE, "%.*s was not deleted: failure asked for", STR_ARG(uri));
    if (FAULT(STORE_DELETE_STALL))
        clock_sleep(2000000);
    return finish(p.root->ops->remove(s, &p, err), start);
}

bool store_make_dir(struct store *s, struct str uri, struct err *err)
{
    struct place p;
    int64_t start;
    TRY(begin(s, uri, &p, &start, err));
    return !p.root->ops->make_dir || finish(p.root->ops->make_dir(s, &p, err), start);
}

bool store_file_present(struct store *s, struct str uri)
{
    struct place p;
    struct err err;
    return store__place(s, uri, &p, &err) && is_file(p.root) && file__present(&p);
}

void entries__add(struct entries *e, struct str uri, int64_t size, int64_t modified_ms)
{
    if (e->n == e->cap) {
        size_t cap = e->cap ? e->cap * 2 : 64;
        struct store_entry *p = ARENA_ARRAY(e->a, struct store_entry, cap);
        if (e->n > 0)
            memcpy(p, e->p, e->n * sizeof(*p));
        e->p = p;
        e->cap = cap;
    }
    e->p[e->n++] = (struct store_entry){uri, size, modified_ms};
}

bool store_is_scrap(struct str uri)
{
    struct str name = uri;
    for (struct str rest = uri; rest.p;)
        name = str_cut(&rest, '/');
    return store_is_file(uri) && str_starts(name, STR(STORE_TMP_PREFIX));
}

bool entries__wanted(const struct entries *e, struct str name)
{
    return e->what == LIST_FILES &&
           (str_ends(name, e->ending) || str_starts(name, STR(STORE_TMP_PREFIX)));
}

static bool list(
    struct store *s, struct str uri, struct entries *e, struct store_entry **out, struct err *err)
{
    struct place p;
    int64_t start;
    TRY(begin(s, uri, &p, &start, err));
    TRY(finish(e->limit == 0 || p.root->ops->list(s, &p, e, err), start));
    *out = e->p;
    return true;
}

bool store_list(struct arena *a, struct store *s, struct str uri, size_t limit,
    struct store_entry **out, size_t *n_out, struct err *err)
{
    return store_list_ending(a, s, uri, STR(""), limit, out, n_out, err);
}

/* NOLINTNEXTLINE(readability-function-size): as store_list, and what to look for */
bool store_list_ending(struct arena *a, struct store *s, struct str uri, struct str ending,
    size_t limit, struct store_entry **out, size_t *n_out, struct err *err)
{
    struct entries e = {.a = a, .limit = limit, .what = LIST_FILES, .ending = ending};
    TRY(list(s, uri, &e, out, err));
    *n_out = e.n;
    return true;
}

bool store_list_folders(struct arena *a, struct store *s, struct str uri, size_t limit,
    struct store_entry **out, size_t *n_out, struct err *err)
{
    struct entries e = {.a = a, .limit = limit, .what = LIST_FOLDERS};
    TRY(list(s, uri, &e, out, err));
    *n_out = e.n;
    return true;
}

/* A second writer of the name must be refused by the store itself. Where that is not asked for, no
 * two objects get the same name, but from now on it is looked first whether it is taken. */
static bool probe_condition(struct store *s, struct str uri, struct err *err)
{
    struct str other = STR("firn, second writer");
    const struct store_ops *ops = s->roots[0].ops;
    bool ignored = store_put_new(s, uri, &other, 1, "text/plain", err);
    if (!ignored && err->kind != ERR_STORE_EXISTS)
        return false;
    if (ignored && ops->forget_condition)
        ops->forget_condition(s);
    return (!ignored && (!ops->has_condition || ops->has_condition(s))) ||
           store__found(s, FINDING_CONDITION_IGNORED, err);
}

/* In a folder of its own, however much lies beneath the base. */
static bool probe_list(struct arena *a, struct store *s, struct str folder, struct err *err)
{
    struct store_entry *e = NULL;
    size_t n = 0;
    if (!store_list(a, s, folder, 10, &e, &n, err))
        return err->kind == ERR_STORE_DENIED && store__found(s, FINDING_LIST_DENIED, err);
    return n == 1 || err_set(err, ERR_INTERNAL,
                         "%.*s holds the object that was written, and the store lists %zu",
                         STR_ARG(folder), n);
}

/* The object holds what was written. */
static bool probe_read(struct store *s, struct str uri, struct str text, struct err *err)
{
    AUTO(buf_fini) struct buf back = {0};
    TRY(store_get(s, uri, 1024, &back, err));
    if (str_eq(buf_view(&back), text))
        return true;
    return err_set(err, ERR_INTERNAL,
        "%.*s came back with other bytes than were written: %zu instead of %zu", STR_ARG(uri),
        back.n, text.n);
}

bool store_probe(struct store *s, struct err *err)
{
    char id[UUID_TEXT + 1];
    uuid_v4(id);
    AUTO(arena_free) struct arena *a = arena_new();
    struct str text = STR("firn"), base = store_base(s);
    struct str folder = arena_printf(a, "%.*s/.firn-probe-%s", STR_ARG(base), id);
    /* A local folder would stay, and can be listed by whoever may write into it. */
    bool local = store_is_file(base);
    struct str uri = local ? folder : arena_printf(a, "%.*s/object", STR_ARG(folder));
    TRY(store_put_new(s, uri, &text, 1, "text/plain", err));
    bool good = probe_read(s, uri, text, err) && (local || probe_list(a, s, folder, err)) &&
                probe_condition(s, uri, err);
    struct err ignored;
    bool gone = store_delete(s, uri, good ? err : &ignored);
    return good && gone;
}
