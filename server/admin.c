#include "admin.h"

#include <errno.h>
#include <netdb.h>
#include <poll.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "call.h"
#include "clock.h"
#include "config.h"
#include "http.h"
#include "log.h"
#include "metric.h"
#include "reports.h"
#include "thread.h"

enum {
    CONNECTIONS = 32,
    BODY_MAX = 4096,
    METRICS_MAX = 16 * 1024 * 1024,
    REPORTS_MAX = 4 * 1024 * 1024,
    ASK_TIMEOUT_MS = 2000,
};

struct admin {
    const struct server *server;
    struct http *http;
    pthread_t thread;
    int event;
};

/* --- answers -----------------------------------------------------------------------------------
 */

static void answer_status(struct call *c, int status, const char *word)
{
    struct buf b;

    buf_init(&b, BODY_MAX);
    buf_putf(&b, "{\"status\":\"%s\"}", word);
    if (!reply_json(c, &b))
        log_fatal("an answer of the admin address does not fit");
    c->reply.status = status;
}

static void answer_ready(struct call *c)
{
    const struct progress *p = c->server->progress;

    if (atomic_load(&p->draining))
        answer_status(c, 503, "draining");
    else if (!atomic_load(&p->started))
        answer_status(c, 503, "starting");
    else
        answer_status(c, 200, "ready");
}

static void answer_metrics(struct call *c)
{
    struct buf b;

    buf_init(&b, METRICS_MAX);
    metric_render(&b);
    reply_text(c, "text/plain; version=0.0.4", buf_take(&b, c->arena));
}

static void answer_reports(struct call *c)
{
    struct buf b;

    buf_init(&b, REPORTS_MAX);
    reports_render(c->server->reports, &b);
    reply_text(c, "application/json", buf_take(&b, c->arena));
}

static bool head(void *owner, struct call *c)
{
    (void)owner;
    c->body_limit = BODY_MAX;
    if (str_eq(c->method, STR("GET")) || str_eq(c->method, STR("HEAD")))
        return true;
    c->allow = STR("GET, HEAD");
    return err_set(&c->err, ERR_METHOD, "Only GET and HEAD are supported here");
}

static enum http_next start(void *owner, struct call *c)
{
    (void)owner;
    if (str_eq(c->path, STR("/health/live"))) {
        answer_status(c, 200, "live");
    } else if (str_eq(c->path, STR("/health/ready"))) {
        answer_ready(c);
    } else if (str_eq(c->path, STR("/metrics"))) {
        answer_metrics(c);
    } else if (str_eq(c->path, STR("/reports"))) {
        answer_reports(c);
    } else {
        err_set(&c->err, ERR_NO_ROUTE,
            "Nothing is served here but /health/live, /health/ready, /metrics and /reports");
        reply_error(c);
    }
    return HTTP_REPLY;
}

static struct call *take(void *owner)
{
    const struct admin *a = owner;

    return call_new(a->server);
}

static void give(void *owner, struct call *c)
{
    (void)owner;
    call_free(&c);
}

/* --- the thread --------------------------------------------------------------------------------
 */

static void *thread_main(void *arg)
{
    struct admin *a = arg;
    struct pollfd fds[] = {
        {.fd = a->event,              .events = POLLIN},
        {.fd = http_fd(a->http),      .events = POLLIN},
        {.fd = http_ends_fd(a->http), .events = POLLIN},
    };

    while (!(fds[0].revents & POLLIN)) {
        if (fds[2].revents & POLLIN)
            http_ended(a->http);
        http_run(a->http);
        poll(fds, ARRAY_LEN(fds), http_timeout_ms(a->http));
    }
    http_stop(&a->http);
    return NULL;
}

static bool start_thread(struct admin *a, struct err *err)
{
    a->event = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (a->event < 0)
        return err_set(err, ERR_INTERNAL, "cannot make an event: %s", strerror(errno));
    return thread_start("firn-admin", thread_main, a, &a->thread, err);
}

bool admin_start(const struct server *server, int listen_fd, struct admin **out, struct err *err)
{
    struct admin *a = xcalloc(1, sizeof(*a));
    struct http_service service = {a, HTTP_UNCOUNTED, take, NULL, give, head, start, NULL};

    a->server = server;
    a->event = -1;
    if (!http_listen(listen_fd, err) ||
        !http_start(listen_fd, server->conf, CONNECTIONS, &service, &a->http, err) ||
        !start_thread(a, err)) {
        http_stop(&a->http);
        if (a->event >= 0)
            close(a->event);
        xfree(a);
        return false;
    }
    *out = a;
    return true;
}

void admin_stop(struct admin **pa)
{
    struct admin *a = *pa;
    uint64_t one = 1;

    if (!a)
        return;
    (void)!write(a->event, &one, sizeof(one));
    pthread_join(a->thread, NULL);
    close(a->event);
    xfree(a);
    *pa = NULL;
}

/* --- asking it ---------------------------------------------------------------------------------
 */

static bool wait_for(int fd, short events, int64_t deadline_us)
{
    int64_t left = (deadline_us - clock_mono_us()) / 1000;
    struct pollfd p = {.fd = fd, .events = events};

    return left > 0 && poll(&p, 1, (int)left) == 1;
}

static bool exchange(int fd, const struct addrinfo *to, char *answer, size_t max)
{
    static const char request[] =
        "GET /health/ready HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n";
    int64_t deadline = clock_mono_us() + ASK_TIMEOUT_MS * INT64_C(1000);
    size_t n = 0;
    ssize_t got = 1;

    if (connect(fd, to->ai_addr, to->ai_addrlen) && errno != EINPROGRESS)
        return false;
    if (!wait_for(fd, POLLOUT, deadline) ||
        send(fd, request, sizeof(request) - 1, MSG_NOSIGNAL) != (ssize_t)sizeof(request) - 1)
        return false;
    while (n + 1 < max && got > 0 && wait_for(fd, POLLIN, deadline)) {
        got = recv(fd, answer + n, max - 1 - n, 0);
        n += got > 0 ? (size_t)got : 0;
    }
    answer[n] = '\0';
    return n > 0;
}

bool admin_ask_ready(const char *address, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new();
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
    const char *host;
    char service[8], answer[1024];
    uint16_t port;

    TRY(config_address(a, address, &host, &port, err));
    snprintf(service, sizeof(service), "%u", (unsigned)port);
    /* A server that listens on all addresses is asked on loopback. */
    if (!host[0] || strcmp(host, "0.0.0.0") == 0)
        host = "127.0.0.1";
    else if (strcmp(host, "::") == 0)
        host = "::1";
    int failed = getaddrinfo(host, service, &hints, &found);
    if (failed)
        return err_set(
            err, ERR_BAD_REQUEST, "cannot find the address %s: %s", address, gai_strerror(failed));
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    bool answered = fd >= 0 && exchange(fd, found, answer, sizeof(answer));
    freeaddrinfo(found);
    if (fd >= 0)
        close(fd);
    if (!answered)
        return err_set(err, ERR_UNAVAILABLE, "nothing answers on %s", address);
    if (!str_starts(str_from(answer), STR("HTTP/1.1 200")))
        return err_set(err, ERR_UNAVAILABLE, "%s is not ready: %s", address,
            strstr(answer, "draining") ? "draining" : "starting");
    return true;
}
