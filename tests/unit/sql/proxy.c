#include "proxy.h"

#include "base.h"

#include <check.h>
#include <poll.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { HELD_MAX = 8, CHUNK = 65536 };

struct held {
    int server;
    size_t n;
    char *bytes;
};

struct proxy {
    char dir[64];
    int listener;
    pthread_mutex_t mutex; /* guards what follows */
    enum proxy_trick trick;
    char statement[64];
    int left, played;
    void (*then)(void *arg);
    void *arg;
    struct held held[HELD_MAX];
    size_t held_n;
};

struct link {
    struct proxy *p;
    int client, server;
};

static int unix_socket(const char *dir, struct sockaddr_un *a)
{
    *a = (struct sockaddr_un){.sun_family = AF_UNIX};
    snprintf(a->sun_path, sizeof(a->sun_path), "%.80s/.s.PGSQL.5432", dir);
    return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
}

static bool send_all(int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t k = send(fd, p, n, MSG_NOSIGNAL);
        if (k <= 0)
            return false;
        p += k;
        n -= (size_t)k;
    }
    return true;
}

/* Is there a Bind message for the statement? Messages: type, length with itself, body. */
static bool binds(const char *p, size_t n, const char *statement)
{
    while (n >= 5) {
        const unsigned char *u = (const unsigned char *)p;
        size_t length = (size_t)u[1] << 24 | (size_t)u[2] << 16 | (size_t)u[3] << 8 | u[4];
        if (length + 1 > n)
            return false;
        if (p[0] == 'B' && strcmp(p + 5 + strlen(p + 5) + 1, statement) == 0)
            return true;
        p += length + 1;
        n -= length + 1;
    }
    return false;
}

static enum proxy_trick trick_for(struct proxy *p, const char *bytes, size_t n)
{
    enum proxy_trick trick = PROXY_FORWARD;

    pthread_mutex_lock(&p->mutex);
    if (p->left > 0 && binds(bytes, n, p->statement)) {
        trick = p->trick;
        p->left--;
        p->played++;
    }
    pthread_mutex_unlock(&p->mutex);
    return trick;
}

/* True: the link goes on. */
static bool play(struct link *l, enum proxy_trick trick, const char *bytes, size_t n)
{
    struct proxy *p = l->p;
    char answer[CHUNK];

    if (trick == PROXY_FORWARD)
        return send_all(l->server, bytes, n);
    if (trick == PROXY_STALL)
        return true;
    if (trick == PROXY_LOSE_REPLY) {
        send_all(l->server, bytes, n);
        if (recv(l->server, answer, sizeof(answer), 0) <= 0)
            return false;
    }
    if (trick == PROXY_HOLD) {
        char *copy = xmalloc(n);
        memcpy(copy, bytes, n);
        pthread_mutex_lock(&p->mutex);
        ck_assert(p->held_n < HELD_MAX);
        p->held[p->held_n++] = (struct held){l->server, n, copy};
        pthread_mutex_unlock(&p->mutex);
        l->server = -1;
    }
    if (p->then)
        p->then(p->arg);
    return false;
}

static void *link_thread(void *arg)
{
    struct link *l = arg;
    char *bytes = xmalloc(CHUNK);
    bool started = false;

    for (;;) {
        struct pollfd fds[] = {
            {.fd = l->client, .events = POLLIN},
            {.fd = l->server, .events = POLLIN}
        };
        if (poll(fds, 2, -1) < 0)
            break;
        if (fds[1].revents) {
            ssize_t n = recv(l->server, bytes, CHUNK, 0);
            if (n <= 0 || !send_all(l->client, bytes, (size_t)n))
                break;
        }
        if (fds[0].revents) {
            ssize_t n = recv(l->client, bytes, CHUNK, 0);
            if (n <= 0)
                break;
            /* The start-up packet has no type. */
            enum proxy_trick trick = started ? trick_for(l->p, bytes, (size_t)n) : PROXY_FORWARD;
            started = true;
            if (!play(l, trick, bytes, (size_t)n))
                break;
        }
    }
    close(l->client);
    if (l->server >= 0)
        close(l->server);
    xfree(bytes);
    xfree(l);
    return NULL;
}

static void *accept_thread(void *arg)
{
    struct proxy *p = arg;
    struct sockaddr_un a;

    for (;;) {
        int client = accept4(p->listener, NULL, NULL, SOCK_CLOEXEC);
        if (client < 0)
            return NULL;
        struct link *l = xcalloc(1, sizeof(*l));
        pthread_t t;
        *l = (struct link){.p = p, .client = client};
        l->server = unix_socket(getenv("FIRN_TEST_PG"), &a);
        if (connect(l->server, (struct sockaddr *)&a, sizeof(a)) != 0) {
            close(l->server);
            close(client);
            xfree(l);
            continue;
        }
        pthread_create(&t, NULL, link_thread, l);
        pthread_detach(t);
    }
}

struct proxy *proxy_new(void)
{
    static struct proxy one; /* threads of links outlive their test's end */
    struct proxy *p = &one;
    struct sockaddr_un a;
    pthread_t t;

    snprintf(p->dir, sizeof(p->dir), "/tmp/firn-px.XXXXXX");
    ck_assert(mkdtemp(p->dir) != NULL);
    pthread_mutex_init(&p->mutex, NULL);
    p->listener = unix_socket(p->dir, &a);
    ck_assert(bind(p->listener, (struct sockaddr *)&a, sizeof(a)) == 0);
    ck_assert(listen(p->listener, 16) == 0);
    pthread_create(&t, NULL, accept_thread, p);
    pthread_detach(t);
    return p;
}

void proxy_free(struct proxy **pp)
{
    struct proxy *p = *pp;
    struct sockaddr_un a;

    proxy_release(p, PROXY_FORGET);
    shutdown(p->listener, SHUT_RDWR);
    close(unix_socket(p->dir, &a));
    unlink(a.sun_path);
    rmdir(p->dir);
    *pp = NULL;
}

const char *proxy_dir(const struct proxy *p)
{
    return p->dir;
}

void proxy_arm(struct proxy *p, enum proxy_trick trick, const char *statement, int hits,
    void (*then)(void *arg), void *arg)
{
    pthread_mutex_lock(&p->mutex);
    p->trick = trick;
    snprintf(p->statement, sizeof(p->statement), "%s", statement);
    p->left = hits;
    p->played = 0;
    p->then = then;
    p->arg = arg;
    pthread_mutex_unlock(&p->mutex);
}

int proxy_hits(struct proxy *p)
{
    pthread_mutex_lock(&p->mutex);
    int n = p->played;
    pthread_mutex_unlock(&p->mutex);
    return n;
}

void proxy_release(struct proxy *p, enum proxy_fate fate)
{
    char answer[CHUNK];

    pthread_mutex_lock(&p->mutex);
    for (size_t i = 0; i < p->held_n; i++) {
        struct held *h = &p->held[i];
        if (fate == PROXY_DELIVER && send_all(h->server, h->bytes, h->n))
            (void)!recv(h->server, answer, sizeof(answer), 0);
        close(h->server);
        xfree(h->bytes);
    }
    p->held_n = 0;
    pthread_mutex_unlock(&p->mutex);
}
