#include "peers.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "call.h"
#include "clock.h"
#include "config.h"
#include "log.h"

enum {
    ENDS = 64, /* taken from the kernel at a time */
    REFUSED_US = 5000000,
    REFUSED_MAX = 64, /* that are waited for */
    PIECE = 16384,
    PIECES = 64, /* read in a turn */
};

bool peers_open(struct peers *ps, const struct config *conf, struct err *err)
{
    ps->patience_us[PATIENT_IDLE] = conf->idle_timeout + conf->head_timeout;
    ps->patience_us[PATIENT_HEAD] = conf->head_timeout;
    ps->patience_us[PATIENT_BODY] = conf->body_timeout;
    ps->patience_us[PATIENT_REFUSED] = REFUSED_US;
    for (unsigned i = 0; i < PATIENT_COUNT; i++)
        TAILQ_INIT(&ps->waiting[i]);
    TAILQ_INIT(&ps->ended);
    ps->fd = epoll_create1(EPOLL_CLOEXEC);
    return ps->fd >= 0 || err_set(err, ERR_INTERNAL, "cannot make an epoll: %s", strerror(errno));
}

static void let_go(struct peers *ps, struct peer **p)
{
    int fd = (*p)->fd;

    peer_free(ps, p);
    shutdown(fd, SHUT_RDWR); /* the library may still have it */
    close(fd);
    ps->refused--;
}

void peers_close(struct peers *ps)
{
    struct peer *p;

    while ((p = TAILQ_FIRST(&ps->waiting[PATIENT_REFUSED])))
        let_go(ps, &p);
    close(ps->fd);
}

struct peer *peer_new(struct peers *ps, int fd)
{
    struct peer *p = xcalloc(1, sizeof(*p));
    struct epoll_event ev = {.events = EPOLLRDHUP | EPOLLONESHOT, .data.ptr = p};

    p->fd = fd;
    p->patience = PATIENT_NONE;
    peer_wait(ps, p, PATIENT_IDLE);
    if (epoll_ctl(ps->fd, EPOLL_CTL_ADD, fd, &ev))
        log_write(LOG_WARN, "http", "epoll_ctl: %s", strerror(errno));
    return p;
}

void peer_free(struct peers *ps, struct peer **pp)
{
    struct peer *p = *pp;

    (void)epoll_ctl(ps->fd, EPOLL_CTL_DEL, p->fd, NULL);
    if (p->ended)
        TAILQ_REMOVE(&ps->ended, p, ended_link);
    peer_wait(ps, p, PATIENT_NONE);
    xfree(p);
    *pp = NULL;
}

void peer_wait(struct peers *ps, struct peer *p, enum patience patience)
{
    if (p->patience < PATIENT_COUNT)
        TAILQ_REMOVE(&ps->waiting[p->patience], p, link);
    p->patience = patience;
    if (patience >= PATIENT_COUNT)
        return;
    p->deadline_us = clock_mono_us() + ps->patience_us[patience];
    TAILQ_INSERT_TAIL(&ps->waiting[patience], p, link);
}

void peers_refused(struct peers *ps, int fd)
{
    struct epoll_event ev = {.events = EPOLLIN | EPOLLRDHUP};
    int own = ps->refused < REFUSED_MAX ? fcntl(fd, F_DUPFD_CLOEXEC, 0) : -1;

    shutdown(fd, own < 0 ? SHUT_RDWR : SHUT_WR);
    if (own < 0)
        return;
    struct peer *p = ev.data.ptr = xcalloc(1, sizeof(*p));
    p->fd = own;
    p->patience = PATIENT_NONE;
    peer_wait(ps, p, PATIENT_REFUSED);
    ps->refused++;
    if (epoll_ctl(ps->fd, EPOLL_CTL_ADD, own, &ev))
        let_go(ps, &p);
}

/* False: nothing more comes. */
static bool read_away(int fd)
{
    char piece[PIECE];
    ssize_t n = 1;

    for (unsigned i = 0; i < PIECES && n > 0; i++)
        n = recv(fd, piece, sizeof(piece), MSG_DONTWAIT);
    return n > 0 || (n < 0 && (errno == EAGAIN || errno == EINTR));
}

void peers_ended(struct peers *ps)
{
    struct epoll_event events[ENDS];
    int n = epoll_wait(ps->fd, events, ENDS, 0);

    for (int i = 0; i < n; i++) {
        struct peer *p = events[i].data.ptr;
        if (p->patience == PATIENT_REFUSED) {
            if (!read_away(p->fd))
                let_go(ps, &p);
            continue;
        }
        p->ended = true;
        TAILQ_INSERT_TAIL(&ps->ended, p, ended_link);
    }
}

/* The library lets nobody answer now, so the answer goes past it; then the connection is ended,
 * which it notices by itself. */
static void give_up(struct peer *p)
{
    static const char answer[] =
        "HTTP/1.1 408 Request Timeout\r\nConnection: close\r\nContent-Type: application/json\r\n"
        "Content-Length: 98\r\n\r\n"
        "{\"error\":{\"message\":\"The request did not arrive in "
        "time\",\"type\":\"BadRequestException\","
        "\"code\":408}}";
    size_t n = sizeof(answer) - 1;

    if (p->call)
        err_set(&p->call->err, ERR_TIMEOUT, "The request did not arrive in time");
    if (p->call && call_is_head(p->call))
        n = (size_t)(strstr(answer, "\r\n\r\n") + 4 - answer);
    if (p->patience != PATIENT_IDLE)
        (void)send(p->fd, answer, n, MSG_NOSIGNAL | MSG_DONTWAIT);
    shutdown(p->fd, SHUT_RDWR);
}

static void give_up_on_slow(struct peers *ps)
{
    int64_t now = clock_mono_us();
    struct peer *p;

    for (unsigned i = 0; i < PATIENT_COUNT; i++)
        while ((p = TAILQ_FIRST(&ps->waiting[i])) && p->deadline_us <= now) {
            if (i == PATIENT_REFUSED) {
                let_go(ps, &p);
                continue;
            }
            give_up(p);
            peer_wait(ps, p, PATIENT_NONE);
        }
}

/* After an event the library (0.9.75) reads once if it gets less than it has room for. The end that
 * came together with the last bytes has no event of its own, and the connection would stay until
 * its time is over: so the event is made again until the end was read. The client's side is closed,
 * to close it once more changes nothing else. */
static void read_to_the_end(struct peers *ps)
{
    const struct peer *p;

    ps->ending = false;
    TAILQ_FOREACH(p, &ps->ended, ended_link)
    if (p->patience != PATIENT_NONE) {
        shutdown(p->fd, SHUT_RD);
        ps->ending = true;
    }
}

void peers_run(struct peers *ps)
{
    give_up_on_slow(ps);
    read_to_the_end(ps);
}

int peers_timeout_ms(const struct peers *ps)
{
    int64_t now = clock_mono_us(), soonest = INT64_MAX;

    if (ps->ending)
        return 0;
    for (unsigned i = 0; i < PATIENT_COUNT; i++) {
        const struct peer *p = TAILQ_FIRST(&ps->waiting[i]);
        int64_t left = p ? (p->deadline_us - now + 999) / 1000 : INT64_MAX;
        if (left < soonest)
            soonest = left < 0 ? 0 : left;
    }
    return soonest == INT64_MAX ? -1 : soonest > INT32_MAX ? INT32_MAX : (int)soonest;
}
