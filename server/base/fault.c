#include "fault.h"

#ifdef FIRN_FAULTS

#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

#include "base.h"
#include "log.h"
#include "str.h"

static const char *const names[] = {
#define X(name) #name,
    FAULT_POINTS(X)
#undef X
};

static atomic_int hits_left[FAULT_COUNT];
static pthread_once_t once = PTHREAD_ONCE_INIT;

static int arm(struct str name, int hits)
{
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        if (!str_eq(name, str_from(names[i])))
            continue;
        atomic_store(&hits_left[i], hits);
        return 1;
    }
    return 0;
}

/* A misspelt point would make a test pass that tests nothing: the process ends. */
static void read_environment(void)
{
    struct str rest = str_from(getenv("FIRN_FAULT"));
    while (rest.p) {
        struct str item = str_trim(str_cut(&rest, ','));
        struct str hits = item, name = str_cut(&hits, ':');
        int64_t n = 1;
        if (!item.n)
            continue;
        if ((hits.p && (!str_to_i64(hits, &n) || n < 1 || n > 1000000)) || !arm(name, (int)n))
            log_fatal("FIRN_FAULT has no point \"%.*s\"", STR_ARG(item));
    }
}

int fault_hit(enum fault f)
{
    pthread_once(&once, read_environment);
    int left = atomic_load(&hits_left[f]);
    while (left > 0)
        if (atomic_compare_exchange_weak(&hits_left[f], &left, left - 1))
            return left == 1;
    return 0;
}

int fault_arm(const char *name, int hits)
{
    pthread_once(&once, read_environment);
    return arm(str_from(name), hits);
}

#endif
