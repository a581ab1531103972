/* The sockets that daemons are started on. */
#include <errno.h>
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "arena.h"
#include "config.h"
#include "http.h"

enum { BACKLOG = 1024 };

bool http_bind(
    struct arena *a, const char *address, int *fd_out, const char **bound, struct err *err)
{
    struct addrinfo hints = {.ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE}, *found;
    struct sockaddr_storage real;
    socklen_t real_n = sizeof(real);
    const char *host;
    uint16_t port;
    char text[64], service[8];
    int one = 1;

    TRY(config_address(a, address, &host, &port, err));
    snprintf(service, sizeof(service), "%u", (unsigned)port);
    int failed = getaddrinfo(host[0] ? host : "0.0.0.0", service, &hints, &found);
    if (failed)
        return err_set(
            err, ERR_BAD_REQUEST, "cannot find the address %s: %s", address, gai_strerror(failed));
    int fd = socket(found->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (fd >= 0)
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one));
    if (fd < 0 || bind(fd, found->ai_addr, found->ai_addrlen) ||
        getsockname(fd, (struct sockaddr *)&real, &real_n) ||
        getnameinfo((struct sockaddr *)&real, real_n, text, sizeof(text), service, sizeof(service),
            NI_NUMERICHOST | NI_NUMERICSERV)) {
        err_set(err, ERR_INTERNAL, "cannot listen on %s: %s", address, strerror(errno));
        freeaddrinfo(found);
        if (fd >= 0)
            close(fd);
        return false;
    }
    freeaddrinfo(found);
    *fd_out = fd;
    *bound = arena_printf(a, strchr(text, ':') ? "[%s]:%s" : "%s:%s", text, service).p;
    return true;
}

bool http_listen(int fd, struct err *err)
{
    if (listen(fd, BACKLOG))
        return err_set(err, ERR_INTERNAL, "cannot listen: %s", strerror(errno));
    return true;
}
