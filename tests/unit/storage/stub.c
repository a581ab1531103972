#include "stub.h"

#include <arpa/inet.h>
#include <check.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

static struct {
    int listener, stop[2], open;
    const struct stub_step *steps;
    size_t n_steps;
    char url[64];
    char requests[STUB_REQUESTS][STUB_BYTES];
    atomic_size_t n;
    pthread_t thread;
} stub;

static void sleep_ms(int ms)
{
    struct timespec t = {ms / 1000, ms % 1000 * 1000000L};
    (void)nanosleep(&t, NULL);
}

static void shut(int *fd)
{
    if (*fd >= 0)
        (void)close(*fd);
    *fd = -1;
}

/* Is the request whole: headers, and as much body as they announce? */
static bool is_whole(const char *text, size_t n)
{
    const char *body = strstr(text, "\r\n\r\n");
    if (!body)
        return false;
    const char *length = strcasestr(text, "\r\ncontent-length:");
    size_t want = 0;
    if (length && length < body)
        (void)sscanf(length + 17, "%zu", &want);
    return n - (size_t)(body + 4 - text) >= want;
}

/* Reads a request from the open connection. False: the other side went away. */
static bool read_request(void)
{
    char *to = stub.requests[atomic_load(&stub.n) % STUB_REQUESTS];
    size_t n = 0;
    to[0] = '\0';
    while (!is_whole(to, n)) {
        ssize_t got = read(stub.open, to + n, STUB_BYTES - 1 - n);
        if (got <= 0)
            return false;
        n += (size_t)got;
        to[n] = '\0';
    }
    return true;
}

static void finish(enum stub_end end)
{
    if (end == STUB_KEEP)
        return;
    if (end == STUB_RESET) {
        struct linger hard = {1, 0};
        (void)setsockopt(stub.open, SOL_SOCKET, SO_LINGER, &hard, sizeof(hard));
    }
    shut(&stub.open);
}

static void answer(const struct stub_step *step)
{
    sleep_ms(step->delay_ms);
    if (step->answer)
        (void)send(stub.open, step->answer, strlen(step->answer), MSG_NOSIGNAL);
    finish(step->end);
}

/* Waits for a request on the kept connection or for a new one. False: asked to stop. */
static bool next_connection(void)
{
    struct pollfd p[] = {
        {stub.stop[0],  POLLIN, 0},
        {stub.listener, POLLIN, 0},
        {stub.open,     POLLIN, 0},
    };
    while (poll(p, 3, -1) < 0)
        ;
    if (p[0].revents)
        return false;
    if (p[1].revents) {
        shut(&stub.open);
        stub.open = accept(stub.listener, NULL, NULL);
    }
    return true;
}

static void *serve(void *arg)
{
    (void)arg;
    while (next_connection()) {
        size_t i = atomic_load(&stub.n);
        if (!read_request()) {
            shut(&stub.open);
            continue;
        }
        atomic_store(&stub.n, i + 1);
        static const struct stub_step over = {NULL, STUB_CLOSE, 0};
        answer(i < stub.n_steps ? &stub.steps[i] : &over);
    }
    shut(&stub.open);
    return NULL;
}

const char *stub_start(const struct stub_step *steps, size_t n)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_addr = {htonl(INADDR_LOOPBACK)}};
    socklen_t size = sizeof(at);
    stub.steps = steps;
    stub.n_steps = n;
    stub.open = -1;
    stub.listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    ck_assert_int_eq(bind(stub.listener, (struct sockaddr *)&at, sizeof(at)), 0);
    ck_assert_int_eq(listen(stub.listener, 16), 0);
    ck_assert_int_eq(getsockname(stub.listener, (struct sockaddr *)&at, &size), 0);
    ck_assert_int_eq(pipe(stub.stop), 0);
    (void)snprintf(stub.url, sizeof(stub.url), "http://127.0.0.1:%d", ntohs(at.sin_port));
    ck_assert_int_eq(pthread_create(&stub.thread, NULL, serve, NULL), 0);
    return stub.url;
}

void stub_stop(void)
{
    if (stub.listener <= 0)
        return;
    ck_assert_int_eq(write(stub.stop[1], "x", 1), 1);
    (void)pthread_join(stub.thread, NULL);
    shut(&stub.listener);
    shut(&stub.stop[0]);
    shut(&stub.stop[1]);
}

size_t stub_count(void)
{
    return atomic_load(&stub.n);
}

const char *stub_request(size_t i)
{
    ck_assert_uint_lt(i, stub_count());
    return stub.requests[i % STUB_REQUESTS];
}

bool stub_saw(size_t i, const char *text)
{
    return strcasestr(stub_request(i), text) != NULL;
}
