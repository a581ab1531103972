#include "metric.h"

#include <assert.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>

#include "base.h"
#include "buf.h"
#include "log.h"

enum kind { KIND_COUNTER, KIND_GAUGE, KIND_TIME, KIND_OP, KIND_OP_TIME };

static const struct {
    const char *name, *help;
    enum kind kind;
} table[] = {
#define X(name, kind, help) {#name, help, KIND_##kind},
    METRICS(X)
#undef X
};

/* The upper ends of the buckets: microseconds, and the same in seconds as text. */
static const struct {
    int64_t us;
    const char *le;
} bounds[] = {
    {100,      "0.0001" },
    {250,      "0.00025"},
    {500,      "0.0005" },
    {1000,     "0.001"  },
    {2500,     "0.0025" },
    {5000,     "0.005"  },
    {10000,    "0.01"   },
    {25000,    "0.025"  },
    {50000,    "0.05"   },
    {100000,   "0.1"    },
    {250000,   "0.25"   },
    {500000,   "0.5"    },
    {1000000,  "1"      },
    {2500000,  "2.5"    },
    {5000000,  "5"      },
    {10000000, "10"     },
};

enum { BUCKETS = ARRAY_LEN(bounds) + 1, CLASSES = 5 };

typedef _Atomic uint64_t count;

struct times {
    count bucket[BUCKETS];
    count sum_us;
};

struct op {
    count answers[CLASSES];
    struct times times;
};

/* What one thread counted. Only that thread writes; a scrape reads. A slot outlives its thread and
 * goes on with the next one, so that no count is ever lost. */
struct slot {
    struct slot *next;
    struct slot *next_free;
    count counters[METRIC_COUNT];
    struct times times[METRIC_COUNT];
    struct op *_Atomic ops;
};

static _Atomic int64_t gauges[METRIC_COUNT];
static const char *const *op_names;
static unsigned n_ops;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static struct slot *slots, *free_slots;
static pthread_key_t at_exit;
static pthread_once_t once = PTHREAD_ONCE_INIT;
static _Thread_local struct slot *mine;

static void thread_ends(void *slot)
{
    mine = NULL;
    struct slot *s = slot;
    pthread_mutex_lock(&lock);
    s->next_free = free_slots;
    free_slots = s;
    pthread_mutex_unlock(&lock);
}

static void make_key(void)
{
    if (pthread_key_create(&at_exit, thread_ends))
        log_fatal("no thread-specific data left");
}

static struct slot *slot_find(void)
{
    pthread_once(&once, make_key);
    pthread_mutex_lock(&lock);
    struct slot *s = free_slots;
    if (s) {
        free_slots = s->next_free;
    } else {
        s = xcalloc(1, sizeof(*s));
        s->next = slots;
        slots = s;
    }
    pthread_mutex_unlock(&lock);
    pthread_setspecific(at_exit, s);
    mine = s;
    return s;
}

static struct slot *slot_mine(void)
{
    return mine ? mine : slot_find();
}

/* No locked instruction is needed where one thread writes. */
static void bump(count *c, uint64_t n)
{
    uint64_t v = atomic_load_explicit(c, memory_order_relaxed);
    atomic_store_explicit(c, v + n, memory_order_relaxed);
}

static uint64_t peek(const count *c)
{
    return atomic_load_explicit(c, memory_order_relaxed);
}

void metric_ops(const char *const *names, unsigned n)
{
    pthread_mutex_lock(&lock);
    op_names = names;
    n_ops = n;
    pthread_mutex_unlock(&lock);
}

void metric_add(enum metric m, uint64_t n)
{
    assert(table[m].kind == KIND_COUNTER);
    bump(&slot_mine()->counters[m], n);
}

void metric_set(enum metric m, int64_t v)
{
    assert(table[m].kind == KIND_GAUGE);
    atomic_store_explicit(&gauges[m], v, memory_order_relaxed);
}

void metric_change(enum metric m, int64_t by)
{
    assert(table[m].kind == KIND_GAUGE);
    atomic_fetch_add_explicit(&gauges[m], by, memory_order_relaxed);
}

void metric_max(enum metric m, int64_t v)
{
    assert(table[m].kind == KIND_GAUGE);
    int64_t seen = atomic_load_explicit(&gauges[m], memory_order_relaxed);
    while (v > seen && !atomic_compare_exchange_weak_explicit(
                           &gauges[m], &seen, v, memory_order_relaxed, memory_order_relaxed))
        ;
}

static void observe(struct times *t, int64_t us)
{
    size_t i = 0;
    while (i < ARRAY_LEN(bounds) && us > bounds[i].us)
        i++;
    bump(&t->bucket[i], 1);
    bump(&t->sum_us, us > 0 ? (uint64_t)us : 0);
}

void metric_observe(enum metric m, int64_t us)
{
    assert(table[m].kind == KIND_TIME);
    observe(&slot_mine()->times[m], us);
}

void metric_op(unsigned op, int status, int64_t us)
{
    assert(op < n_ops);
    struct slot *s = slot_mine();
    struct op *ops = atomic_load_explicit(&s->ops, memory_order_relaxed);
    if (!ops) {
        ops = xcalloc(n_ops, sizeof(*ops));
        atomic_store_explicit(&s->ops, ops, memory_order_release);
    }
    int class = status < 100 || status > 599 ? CLASSES : status / 100;
    bump(&ops[op].answers[class - 1], 1);
    observe(&ops[op].times, us);
}

/* Sums over all threads, plain numbers. */
struct sums {
    uint64_t bucket[BUCKETS];
    uint64_t sum_us;
};

static void sums_add(struct sums *all, const struct times *t)
{
    for (size_t i = 0; i < BUCKETS; i++)
        all->bucket[i] += peek(&t->bucket[i]);
    all->sum_us += peek(&t->sum_us);
}

static uint64_t sums_count(const struct sums *all)
{
    uint64_t n = 0;
    for (size_t i = 0; i < BUCKETS; i++)
        n += all->bucket[i];
    return n;
}

/* `label` is empty or one label with a comma behind it. */
static void render_times(
    struct buf *out, const char *name, const char *label, const struct sums *all)
{
    uint64_t n = 0;
    for (size_t i = 0; i < BUCKETS; i++) {
        n += all->bucket[i];
        const char *le = i < ARRAY_LEN(bounds) ? bounds[i].le : "+Inf";
        buf_putf(out, "firn_%s_bucket{%sle=\"%s\"} %llu\n", name, label, le, (unsigned long long)n);
    }
    int last = (int)strlen(label) - 1;
    const char *open = last > 0 ? "{" : "", *close = last > 0 ? "}" : "";
    buf_putf(out, "firn_%s_sum%s%.*s%s %llu.%06llu\n", name, open, last > 0 ? last : 0, label,
        close, (unsigned long long)(all->sum_us / 1000000),
        (unsigned long long)(all->sum_us % 1000000));
    buf_putf(out, "firn_%s_count%s%.*s%s %llu\n", name, open, last > 0 ? last : 0, label, close,
        (unsigned long long)n);
}

static void render_counter(struct buf *out, enum metric m)
{
    uint64_t n = m == METRIC_allocations_total ? xmalloc_count() : 0;
    for (const struct slot *s = slots; s; s = s->next)
        n += peek(&s->counters[m]);
    buf_putf(out, "firn_%s %llu\n", table[m].name, (unsigned long long)n);
}

static const struct op *slot_op(const struct slot *s, unsigned op)
{
    const struct op *ops = atomic_load_explicit(&s->ops, memory_order_acquire);
    return ops ? &ops[op] : NULL;
}

/* Series that never counted anything are left out. */
static void render_op(struct buf *out, enum metric m, unsigned op)
{
    for (int class = 0; class < CLASSES; class ++) {
        uint64_t n = 0;
        for (const struct slot *s = slots; s; s = s->next)
            n += slot_op(s, op) ? peek(&slot_op(s, op)->answers[class]) : 0;
        if (n)
            buf_putf(out, "firn_%s{operation=\"%s\",status=\"%dxx\"} %llu\n", table[m].name,
                op_names[op], class + 1, (unsigned long long)n);
    }
}

static void render_op_time(struct buf *out, enum metric m, unsigned op)
{
    struct sums all = {0};
    for (const struct slot *s = slots; s; s = s->next)
        if (slot_op(s, op))
            sums_add(&all, &slot_op(s, op)->times);
    if (!sums_count(&all))
        return;
    char label[128];
    snprintf(label, sizeof(label), "operation=\"%s\",", op_names[op]);
    render_times(out, table[m].name, label, &all);
}

static void render_time(struct buf *out, enum metric m)
{
    struct sums all = {0};
    for (const struct slot *s = slots; s; s = s->next)
        sums_add(&all, &s->times[m]);
    render_times(out, table[m].name, "", &all);
}

static void render_one(struct buf *out, enum metric m)
{
    static const char *const types[] = {"counter", "gauge", "histogram", "counter", "histogram"};
    enum kind kind = table[m].kind;
    buf_putf(out, "# HELP firn_%s %s\n", table[m].name, table[m].help);
    buf_putf(out, "# TYPE firn_%s %s\n", table[m].name, types[kind]);
    switch (kind) {
    case KIND_COUNTER:
        render_counter(out, m);
        break;
    case KIND_GAUGE:
        buf_putf(out, "firn_%s %lld\n", table[m].name,
            (long long)atomic_load_explicit(&gauges[m], memory_order_relaxed));
        break;
    case KIND_TIME:
        render_time(out, m);
        break;
    case KIND_OP:
        for (unsigned op = 0; op < n_ops; op++)
            render_op(out, m, op);
        break;
    case KIND_OP_TIME:
        for (unsigned op = 0; op < n_ops; op++)
            render_op_time(out, m, op);
        break;
    }
}

void metric_render(struct buf *out)
{
    pthread_mutex_lock(&lock);
    for (int m = 0; m < METRIC_COUNT; m++)
        render_one(out, (enum metric)m);
    pthread_mutex_unlock(&lock);
}
