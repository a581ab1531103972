#include "retry.h"

#include "clock.h"
#include "fetch.h"
#include "metric.h"
#include "uuid.h"

enum { TRIES = 5, BACKOFF_MS = 50, BACKOFF_MAX_MS = 5000, ASKED_MAX_S = 3600 };
enum { PURSE = 500, PRICE_ANSWERED = 5, PRICE_SILENT = 10 };

/* 520 to 530: proxies that lost the store behind them. */
bool retry_is_trouble(int status)
{
    return status == 429 || status == 500 || (status >= 502 && status <= 504) ||
           (status >= 520 && status <= 530);
}

/* Full jitter: anything between nothing and the doubled step, so that clients do not march. */
static int64_t backoff_us(int tries)
{
    uint32_t r = 0;
    int64_t most_ms = (int64_t)BACKOFF_MS << tries;
    uuid_random(&r, sizeof(r));
    most_ms = most_ms < BACKOFF_MAX_MS ? most_ms : BACKOFF_MAX_MS;
    return (int64_t)(r % (uint64_t)(most_ms * 1000));
}

/* An answer of status 0 asks for nothing. */
static int64_t wait_us(const struct fetch_response *rs, int tries)
{
    int64_t s = 0, jitter = backoff_us(tries);
    struct str asked = fetch_header(rs, "Retry-After");
    if (asked.p && str_to_i64(asked, &s) && s > 0 && s < ASKED_MAX_S)
        return s * 1000000 + jitter;
    return jitter;
}

static void pause_for(int64_t us)
{
    clock_sleep(us);
    metric_add(METRIC_store_retries_total, 1);
    metric_add(METRIC_store_requests_total, 1);
}

void purse_init(struct purse *p)
{
    atomic_init(&p->left, PURSE);
}

/* What sending again costs after this answer: more when there was none. */
static int price_of(const struct fetch_response *rs)
{
    return rs->status != 0 ? PRICE_ANSWERED : PRICE_SILENT;
}

/* False when there is too little in it, and nothing is taken. */
static bool pay(struct purse *p, int price)
{
    int have = atomic_load(&p->left);
    do {
        if (have < price)
            return false;
    } while (!atomic_compare_exchange_weak(&p->left, &have, have - price));
    return true;
}

/* What the last retry had cost comes back, or a little when there was none. */
static void earn(struct purse *p, int price)
{
    int have = atomic_load(&p->left), more;
    do {
        more = have + (price > 0 ? price : 1);
        more = more < PURSE ? more : PURSE;
    } while (!atomic_compare_exchange_weak(&p->left, &have, more));
}

static bool give_up(const struct retry_by *by, int tries, int64_t start_us, struct err *err)
{
    return err_wrap(err, "%.*s: given up after %d %s in %lld ms", STR_ARG(by->name), tries,
        tries == 1 ? "try" : "tries", (long long)((clock_mono_us() - start_us) / 1000));
}

bool retry_send(const struct retry_by *by, struct fetch_response *rs, struct err *err)
{
    int64_t start = clock_mono_us();
    int price = 0;
    for (int tries = 1;; tries++) {
        enum retry_verdict verdict = RETRY_LATER;
        *rs = (struct fetch_response){0};
        if (by->attempt(by->call, rs, err)) {
            verdict = by->judge(by->call, rs);
        } else {
            by->lost(by->call, rs);
            if (err->kind != ERR_UNAVAILABLE)
                return false;
        }
        if (verdict == RETRY_ANSWERED) {
            earn(by->purse, price);
            return true;
        }
        if (rs->status != 0)
            (void)by->fail(by->call, rs, err);
        int64_t wait = verdict == RETRY_LATER ? wait_us(rs, tries) : 0;
        price = verdict == RETRY_LATER ? price_of(rs) : 0;
        if (tries == TRIES || clock_mono_us() + wait >= by->deadline_us || !pay(by->purse, price))
            return give_up(by, tries, start, err);
        buf_fini(&rs->body);
        pause_for(wait);
    }
}
