#include "uuid.h"

#include <errno.h>
#include <pthread.h>
#include <sys/random.h>

#include "base.h"
#include "clock.h"
#include "digest.h"
#include "log.h"

/* 2020-01-01T00:00:00Z. */
#define ROW_ID_EPOCH 1577836800000

/* Random bytes fetched ahead: a system call for every sixteen UUIDs. */
struct pool {
    unsigned char bytes[256];
    size_t left;
};

static _Thread_local struct pool pool;
static pthread_once_t once = PTHREAD_ONCE_INIT;

static void from_kernel(void *p, size_t n)
{
    for (size_t done = 0; done < n;) {
        ssize_t got = getrandom((char *)p + done, n - done, 0);
        if (got < 0 && errno != EINTR)
            log_fatal("the kernel gives no random bytes: %s", strerror(errno));
        done += got > 0 ? (size_t)got : 0;
    }
}

/* A child must not hand out what its parent fetched. */
static void forget(void)
{
    pool.left = 0;
}

static void watch_forks(void)
{
    pthread_atfork(NULL, NULL, forget);
}

void uuid_random(void *p, size_t n)
{
    if (n > sizeof(pool.bytes) / 4) {
        from_kernel(p, n);
        return;
    }
    if (n > pool.left) {
        pthread_once(&once, watch_forks);
        from_kernel(pool.bytes, sizeof(pool.bytes));
        pool.left = sizeof(pool.bytes);
    }
    pool.left -= n;
    memcpy(p, pool.bytes + pool.left, n);
    explicit_bzero(pool.bytes + pool.left, n);
}

static void format(uint8_t raw[static 16], int version, char *out)
{
    static const uint8_t widths[] = {4, 2, 2, 2, 6};
    raw[6] = (uint8_t)((raw[6] & 0x0f) | (version << 4));
    raw[8] = (uint8_t)((raw[8] & 0x3f) | 0x80);
    for (size_t i = 0; i < ARRAY_LEN(widths); i++) {
        digest_hex(raw, widths[i], out);
        raw += widths[i];
        out += 2 * (size_t)widths[i];
        *out++ = i + 1 < ARRAY_LEN(widths) ? '-' : '\0';
    }
}

void uuid_v4(char out[static UUID_TEXT + 1])
{
    uint8_t raw[16];
    uuid_random(raw, sizeof(raw));
    format(raw, 4, out);
}

void uuid_v7(char out[static UUID_TEXT + 1])
{
    uint8_t raw[16];
    uuid_random(raw, sizeof(raw));
    uint64_t ms = (uint64_t)clock_ms();
    for (int i = 5; i >= 0; i--, ms >>= 8)
        raw[i] = (uint8_t)ms;
    format(raw, 7, out);
}

bool uuid_is(struct str s)
{
    if (s.n != UUID_TEXT)
        return false;
    for (size_t i = 0; i < s.n; i++) {
        bool dash = i == 8 || i == 13 || i == 18 || i == 23;
        if (dash ? s.p[i] != '-' : str_hex(s.p[i]) < 0)
            return false;
    }
    return true;
}

static uint64_t row_ms(void)
{
    int64_t since = clock_ms() - ROW_ID_EPOCH;
    return since > 0 ? (uint64_t)since & ((1ULL << 41) - 1) : 0;
}

int64_t uuid_row_id(void)
{
    uint32_t random;
    uuid_random(&random, sizeof(random));
    int64_t id = (int64_t)((row_ms() << 22) | (random & ((1U << 22) - 1)));
    return id ? id : 1;
}

int64_t uuid_row_id_bound(void)
{
    return (int64_t)((row_ms() + 1) << 22);
}
