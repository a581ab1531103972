/* The floor of an answer: libmicrohttpd alone, which returns the same bytes to every request.
   floor_http PORT THREADS STATUS BYTES */
#include <arpa/inet.h>
#include <microhttpd.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static unsigned status;

static enum MHD_Result on_request(void *cls, struct MHD_Connection *con, const char *url,
    const char *method, const char *version, const char *upload, size_t *upload_size,
    void **context)
{
    (void)url, (void)method, (void)version, (void)upload;
    if (!*context) {
        *context = cls;
        return MHD_YES;
    }
    if (*upload_size > 0) {
        *upload_size = 0;
        return MHD_YES;
    }
    return MHD_queue_response(con, status, cls);
}

int main(int argc, char **argv)
{
    if (argc != 5)
        return 2;
    struct sockaddr_in at = {.sin_family = AF_INET,
        .sin_port = htons((uint16_t)atoi(argv[1])),
        .sin_addr = {htonl(INADDR_LOOPBACK)}};
    unsigned threads = (unsigned)atoi(argv[2]);
    size_t n = (size_t)atol(argv[4]);
    status = (unsigned)atoi(argv[3]);
    char *body = malloc(n + 1);
    if (!body)
        return 1;
    memset(body, 'x', n + 1);
    struct MHD_Response *answer = MHD_create_response_from_buffer(n, body, MHD_RESPMEM_PERSISTENT);
    MHD_add_response_header(answer, "Content-Type", "application/json");
    MHD_add_response_header(answer, "ETag", "\"0123456789abcdef0123456789abcdef\"");
    signal(SIGPIPE, SIG_IGN);
    sigset_t stop;
    sigemptyset(&stop);
    sigaddset(&stop, SIGTERM);
    sigprocmask(SIG_BLOCK, &stop, NULL);
    struct MHD_Daemon *daemon = MHD_start_daemon(MHD_USE_EPOLL_INTERNAL_THREAD, 0, NULL, NULL,
        on_request, answer, MHD_OPTION_SOCK_ADDR, &at, MHD_OPTION_THREAD_POOL_SIZE,
        threads > 1 ? threads : 0, MHD_OPTION_END);
    if (!daemon)
        return 1;
    puts("ready");
    fflush(stdout);
    int got;
    sigwait(&stop, &got);
    MHD_stop_daemon(daemon);
    return 0;
}
