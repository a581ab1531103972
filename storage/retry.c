#include "retry.h"

#include "clock.h"
#include "fetch.h"
#include "metric.h"
#include "uuid.h"

#include <errno.h>
#include <time.h>

enum { BACKOFF_MS = 50, BACKOFF_MAX_MS = 5000, ASKED_MAX_S = 3600 };
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

int64_t retry_wait_us(const struct fetch_response *rs, int tries)
{
    int64_t s = 0, jitter = backoff_us(tries);
    struct str asked = fetch_header(rs, "Retry-After");
    if (asked.p && str_to_i64(asked, &s) && s > 0 && s < ASKED_MAX_S)
        return s * 1000000 + jitter;
    return jitter;
}

void retry_pause(int64_t us)
{
    struct timespec t = {.tv_sec = us / 1000000, .tv_nsec = us % 1000000 * 1000};
    while (clock_nanosleep(CLOCK_MONOTONIC, 0, &t, &t) == EINTR)
        ;
    metric_add(METRIC_store_retries_total, 1);
    metric_add(METRIC_store_requests_total, 1);
}

void purse_init(struct purse *p)
{
    atomic_init(&p->left, PURSE);
}

int retry_price(const struct fetch_response *rs)
{
    return rs->status != 0 ? PRICE_ANSWERED : PRICE_SILENT;
}

bool purse_pay(struct purse *p, int price)
{
    int have = atomic_load(&p->left);
    do {
        if (have < price)
            return false;
    } while (!atomic_compare_exchange_weak(&p->left, &have, have - price));
    return true;
}

void purse_earn(struct purse *p, int price)
{
    int have = atomic_load(&p->left), more;
    do {
        more = have + (price > 0 ? price : 1);
        more = more < PURSE ? more : PURSE;
    } while (!atomic_compare_exchange_weak(&p->left, &have, more));
}
