/* The floor of an answer without any library: a level-triggered epoll loop in each thread, which
   looks for the end of a request and sends the same bytes.
   floor_epoll PORT THREADS STATUS BYTES */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <unistd.h>

enum { IN = 16384, EVENTS = 64 };

struct peer {
    int fd;
    size_t got, skip; /* bytes of the head that are in, of the body that are not */
    size_t sent;      /* of head and body; 0: none of it is under way */
    char in[IN + 1];
};

static char *body, head[256];
static size_t body_n, head_n;
static struct sockaddr_in at = {.sin_family = AF_INET};

static void must(int ok, const char *what)
{
    if (ok)
        return;
    perror(what);
    exit(1);
}

static void peer_end(struct peer *p)
{
    close(p->fd);
    free(p);
}

/* 1: all of it is sent; 0: the socket is full; -1: the client has gone. */
static int answer(int epoll, struct peer *p)
{
    while (p->sent < head_n + body_n) {
        size_t h = p->sent < head_n ? p->sent : head_n, b = p->sent - h;
        struct iovec v[2] = {
            {head + h, head_n - h},
            {body + b, body_n - b}
        };
        struct msghdr m = {.msg_iov = v, .msg_iovlen = 2};
        ssize_t n = sendmsg(p->fd, &m, MSG_NOSIGNAL);
        if (n < 0 && errno == EAGAIN) {
            struct epoll_event ev = {.events = EPOLLOUT, .data.ptr = p};
            epoll_ctl(epoll, EPOLL_CTL_MOD, p->fd, &ev);
            return 0;
        }
        if (n < 0)
            return -1;
        p->sent += (size_t)n;
    }
    p->sent = 0;
    return 1;
}

/* Is a whole request in? Takes it out. */
static int whole(struct peer *p)
{
    if (!p->skip) {
        char *end = memmem(p->in, p->got, "\r\n\r\n", 4);
        if (!end)
            return 0;
        *end = '\0';
        const char *length = strcasestr(p->in, "\r\ncontent-length:");
        size_t used = (size_t)(end + 4 - p->in), n = length ? strtoul(length + 17, NULL, 10) : 0;
        p->got -= used;
        memmove(p->in, p->in + used, p->got);
        p->skip = n + 1;
    }
    size_t here = p->got < p->skip - 1 ? p->got : p->skip - 1;
    p->got -= here;
    memmove(p->in, p->in + here, p->got);
    p->skip -= here;
    if (p->skip > 1)
        return 0;
    p->skip = 0;
    return 1;
}

static void serve(int epoll, struct peer *p, unsigned events)
{
    if (events & EPOLLOUT) {
        struct epoll_event ev = {.events = EPOLLIN, .data.ptr = p};
        int all = answer(epoll, p);
        if (all < 0)
            peer_end(p);
        else if (all > 0)
            epoll_ctl(epoll, EPOLL_CTL_MOD, p->fd, &ev);
        return;
    }
    ssize_t n = recv(p->fd, p->in + p->got, IN - p->got, 0);
    if (n <= 0 && errno != EAGAIN) {
        peer_end(p);
        return;
    }
    p->got += n > 0 ? (size_t)n : 0;
    while (whole(p)) {
        int all = answer(epoll, p);
        if (all < 0)
            peer_end(p);
        if (all <= 0)
            return;
    }
}

static void accept_one(int epoll, int listener)
{
    int fd = accept4(listener, NULL, NULL, SOCK_NONBLOCK), one = 1;
    if (fd < 0)
        return;
    setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &one, sizeof(one));
    struct peer *p = calloc(1, sizeof(*p));
    must(p != NULL, "memory");
    p->fd = fd;
    struct epoll_event ev = {.events = EPOLLIN, .data.ptr = p};
    epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &ev);
}

static void *loop(void *unused)
{
    (void)unused;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_NONBLOCK, 0), one = 1;
    setsockopt(listener, SOL_SOCKET, SO_REUSEPORT, &one, sizeof(one));
    setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    must(bind(listener, (struct sockaddr *)&at, sizeof(at)) == 0, "bind");
    must(listen(listener, 1024) == 0, "listen");
    int epoll = epoll_create1(0);
    struct epoll_event ev = {.events = EPOLLIN}, events[EVENTS];
    epoll_ctl(epoll, EPOLL_CTL_ADD, listener, &ev);
    for (;;) {
        int n = epoll_wait(epoll, events, EVENTS, -1);
        for (int i = 0; i < n; i++) {
            if (events[i].data.ptr)
                serve(epoll, events[i].data.ptr, events[i].events);
            else
                accept_one(epoll, listener);
        }
    }
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    at.sin_port = htons((uint16_t)atoi(argv[1]));
    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    body_n = (size_t)atol(argv[4]);
    body = malloc(body_n + 1);
    must(body != NULL, "memory");
    memset(body, 'x', body_n + 1);
    head_n = (size_t)snprintf(head, sizeof(head),
        "HTTP/1.1 %s OK\r\nContent-Length: %zu\r\nContent-Type: application/json\r\n"
        "ETag: \"0123456789abcdef0123456789abcdef\"\r\n\r\n",
        argv[3], body_n);
    signal(SIGPIPE, SIG_IGN);
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    for (int i = 0; i < atoi(argv[2]); i++) {
        pthread_t thread;
        must(pthread_create(&thread, NULL, loop, NULL) == 0, "thread");
    }
    usleep(100000);
    puts("ready");
    fflush(stdout);
    int got;
    sigwait(&stop, &got);
    return 0;
}
