#include "reports.h"

#include <pthread.h>

#include "arena.h"
#include "clock.h"
#include "reply.h"

enum { KEPT = 64, TEXT_MAX = 16 * 1024 };

struct entry {
    int64_t received_ms;
    char *ns, *name, *text;
    size_t ns_n, name_n, text_n;
};

struct reports {
    pthread_mutex_t lock;
    struct entry ring[KEPT];
    size_t n; /* ever kept */
};

struct reports *reports_new(void)
{
    struct reports *r = xcalloc(1, sizeof *r);
    pthread_mutex_init(&r->lock, NULL);
    return r;
}

static void entry_fini(struct entry *e)
{
    xfree(e->ns);
    xfree(e->name);
    xfree(e->text);
}

void reports_free(struct reports **r)
{
    struct reports *gone = TAKE(*r);
    if (!gone)
        return;
    for (size_t i = 0; i < KEPT; i++)
        entry_fini(&gone->ring[i]);
    pthread_mutex_destroy(&gone->lock);
    xfree(gone);
}

static char *copy(struct str s, size_t *n)
{
    char *p = xmalloc(s.n + 1);
    if (s.n)
        memcpy(p, s.p, s.n);
    p[s.n] = '\0';
    *n = s.n;
    return p;
}

void reports_keep(struct reports *r, const struct ident *table, struct str text)
{
    if (text.n > TEXT_MAX)
        return;
    struct entry e = {.received_ms = clock_ms()};
    e.ns = copy(table->ns, &e.ns_n);
    e.name = copy(table->name, &e.name_n);
    e.text = copy(text, &e.text_n);
    pthread_mutex_lock(&r->lock);
    struct entry *at = &r->ring[r->n++ % KEPT];
    struct entry oldest = *at;
    *at = e;
    pthread_mutex_unlock(&r->lock);
    entry_fini(&oldest);
}

static void put_entry(struct buf *b, const struct entry *e)
{
    buf_puts(b, "{\"received-ms\":");
    buf_json_i64(b, e->received_ms);
    buf_puts(b, ",\"namespace\":");
    reply_levels(b, (struct str){e->ns, e->ns_n});
    buf_puts(b, ",\"table\":");
    buf_json_str(b, (struct str){e->name, e->name_n});
    buf_puts(b, ",\"report\":");
    buf_put(b, e->text, e->text_n);
    buf_putc(b, '}');
}

void reports_render(struct reports *r, struct buf *out)
{
    buf_puts(out, "{\"reports\":[");
    pthread_mutex_lock(&r->lock);
    size_t n = r->n < KEPT ? r->n : KEPT;
    for (size_t i = 0; i < n; i++) {
        if (i > 0)
            buf_putc(out, ',');
        put_entry(out, &r->ring[(r->n - 1 - i) % KEPT]);
    }
    pthread_mutex_unlock(&r->lock);
    buf_puts(out, "]}");
}
