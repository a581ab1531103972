/* The floor of a commit: a new file made durable, then a pointer moved by compare-and-set and the
   change written down, by CLIENTS threads with a connection and a pointer each.
   floor_commit URI FOLDER BYTES CLIENTS SECONDS      BYTES 0: the compare-and-set alone
   Prints how many were committed and the CPU time that this side took. */
#include <fcntl.h>
#include <libpq-fe.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

static const char SCHEMA[] =
    "CREATE TABLE IF NOT EXISTS floor_pointer (id BIGINT PRIMARY KEY, location TEXT NOT NULL);"
    "CREATE TABLE IF NOT EXISTS floor_change"
    " (token TEXT PRIMARY KEY, id BIGINT NOT NULL, location TEXT NOT NULL, at_ms BIGINT NOT NULL);";
static const char SWAP[] =
    "WITH moved AS (UPDATE floor_pointer SET location = $3 WHERE id = $1 AND location = $2"
    " RETURNING id) INSERT INTO floor_change SELECT $4, id, $3, 0 FROM moved RETURNING token";

struct client {
    pthread_t thread;
    int number;
    long done;
    double cpu;
};

static const char *uri, *folder;
static char *body;
static size_t body_n;
static double end;

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_THREAD, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

static void must(int ok, const char *what)
{
    if (ok)
        return;
    fprintf(stderr, "%s failed\n", what);
    exit(1);
}

static void put_file(int dir, const char *name)
{
    int fd = openat(dir, name, O_CREAT | O_EXCL | O_WRONLY | O_CLOEXEC, 0644);
    must(fd >= 0, "open");
    for (size_t at = 0; at < body_n;) {
        ssize_t n = write(fd, body + at, body_n - at);
        must(n > 0, "write");
        at += (size_t)n;
    }
    must(fsync(fd) == 0 && close(fd) == 0 && fsync(dir) == 0, "fsync");
}

static PGconn *connection(int number, const char *location)
{
    char id[24];
    const char *values[] = {id, location};

    snprintf(id, sizeof(id), "%d", number);
    PGconn *con = PQconnectdb(uri);
    PQclear(PQexecParams(con,
        "INSERT INTO floor_pointer VALUES ($1, $2)"
        " ON CONFLICT (id) DO UPDATE SET location = excluded.location",
        2, NULL, values, NULL, NULL, 0));
    PGresult *r = PQprepare(con, "swap", SWAP, 0, NULL);
    must(PQresultStatus(r) == PGRES_COMMAND_OK, "prepare");
    PQclear(r);
    return con;
}

static void *work(void *data)
{
    struct client *c = data;
    char id[24], name[160], location[2][400], path[300];

    snprintf(id, sizeof(id), "%d", c->number);
    snprintf(path, sizeof(path), "%s/t%d", folder, c->number);
    snprintf(location[0], sizeof(location[0]), "%s/0", path);
    PGconn *con = connection(c->number, location[0]);
    int dir = open(path, O_DIRECTORY | O_RDONLY | O_CLOEXEC);
    must(dir >= 0, path);
    double begin = cpu();
    do { /* one at least, however late it begins */
        char *old = location[c->done % 2], *next = location[(c->done + 1) % 2];
        snprintf(name, sizeof(name), "%05ld-%d-%.9f.metadata.json", c->done, getpid(), now());
        if (body_n)
            put_file(dir, name);
        snprintf(next, sizeof(location[0]), "%s/%s", path, name);
        const char *values[] = {id, old, next, next};
        PGresult *r = PQexecPrepared(con, "swap", 4, values, NULL, NULL, 0);
        must(PQntuples(r) == 1, "swap");
        PQclear(r);
        c->done++;
    } while (now() < end);
    c->cpu = cpu() - begin;
    PQfinish(con);
    close(dir);
    return NULL;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    uri = argv[1];
    folder = argv[2];
    body_n = (size_t)atol(argv[3]);
    body = malloc(body_n + 1);
    int clients = atoi(argv[4]);
    struct client *c = calloc((size_t)clients, sizeof(*c));
    must(body && c, "memory");
    memset(body, 'x', body_n + 1);
    PGconn *con = PQconnectdb(uri);
    PQclear(PQexec(con, SCHEMA));
    PQfinish(con);
    end = now() + atof(argv[5]);
    long done = 0;
    double spent = 0;
    for (int i = 0; i < clients; i++) {
        c[i].number = i;
        must(pthread_create(&c[i].thread, NULL, work, &c[i]) == 0, "thread");
    }
    for (int i = 0; i < clients; i++) {
        pthread_join(c[i].thread, NULL);
        done += c[i].done;
        spent += c[i].cpu;
    }
    printf("%ld %.6f\n", done, spent);
    return 0;
}
