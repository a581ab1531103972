/* The floor of a list: the names of a namespace as PostgreSQL's COPY gives them out, thrown away.
   floor_list URI SECONDS NAMESPACE
   Prints how many lists were read and the CPU time that this side took. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static double cpu(void)
{
    struct rusage u;
    getrusage(RUSAGE_SELF, &u);
    return (double)(u.ru_utime.tv_sec + u.ru_stime.tv_sec) +
           (double)(u.ru_utime.tv_usec + u.ru_stime.tv_usec) / 1e6;
}

int main(int argc, char **argv)
{
    char text[400];

    if (argc != 4)
        return 2;
    snprintf(text, sizeof(text),
        "COPY (SELECT o.name FROM object o JOIN namespace n ON n.warehouse_id = o.warehouse_id"
        " AND n.id = o.namespace_id WHERE n.path = '%s' AND o.kind = 1 ORDER BY o.name)"
        " TO STDOUT (FORMAT binary)",
        argv[3]);
    PGconn *con = PQconnectdb(argv[1]);
    double end = now() + atof(argv[2]), begin = cpu();
    long done = 0;
    while (now() < end) {
        PGresult *r = PQexec(con, text);
        if (PQresultStatus(r) != PGRES_COPY_OUT) {
            fputs(PQerrorMessage(con), stderr);
            return 1;
        }
        PQclear(r);
        char *row;
        while (PQgetCopyData(con, &row, 0) > 0)
            PQfreemem(row);
        while ((r = PQgetResult(con)))
            PQclear(r);
        done++;
    }
    printf("%ld %.6f\n", done, cpu() - begin);
    PQfinish(con);
    return 0;
}
