/* The floor of a lookup: one connection, one prepared statement, BATCH keys in each round trip.
   floor_lookup URI BATCH SECONDS NAMESPACE TABLE
   Prints how many keys were looked up and the CPU time that this side took. */
#include <libpq-fe.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>

static const char TEXT[] =
    "SELECT k.i, o.id, o.uuid, o.location, o.metadata_location"
    " FROM unnest($1::text[], $2::text[]) WITH ORDINALITY AS k (path, name, i)"
    " CROSS JOIN LATERAL (SELECT id FROM namespace WHERE warehouse_id = $3 AND path = k.path LIMIT "
    "1) n"
    " CROSS JOIN LATERAL (SELECT id, uuid, location, metadata_location FROM object"
    "  WHERE warehouse_id = $3 AND namespace_id = n.id AND name = k.name LIMIT 1) o";

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

static char *array_of(const char *word, int n)
{
    size_t size = (strlen(word) + 1) * (size_t)n + 3, at = 0;
    char *out = malloc(size);
    if (!out)
        exit(1);
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(out + at, size - at, "%c%s", i == 0 ? '{' : ',', word);
    snprintf(out + at, size - at, "}");
    return out;
}

int main(int argc, char **argv)
{
    if (argc != 6)
        return 2;
    int batch = atoi(argv[2]);
    PGconn *con = PQconnectdb(argv[1]);
    PQclear(PQexec(con, "SET plan_cache_mode = force_generic_plan; SET jit = off"));
    PGresult *r = PQprepare(con, "lookup", TEXT, 0, NULL);
    if (PQresultStatus(r) != PGRES_COMMAND_OK) {
        fputs(PQerrorMessage(con), stderr);
        return 1;
    }
    PQclear(r);
    PGresult *warehouse = PQexec(con, "SELECT id FROM warehouse LIMIT 1");
    const char *values[] = {
        array_of(argv[4], batch), array_of(argv[5], batch), PQgetvalue(warehouse, 0, 0)};
    double end = now() + atof(argv[3]), begin = cpu();
    long done = 0;
    while (now() < end) {
        r = PQexecPrepared(con, "lookup", 3, values, NULL, NULL, 0);
        if (PQntuples(r) != batch) {
            fprintf(stderr, "%d of %d rows. %s\n", PQntuples(r), batch, PQerrorMessage(con));
            return 1;
        }
        PQclear(r);
        done += batch;
    }
    printf("%ld %.6f\n", done, cpu() - begin);
    PQfinish(con);
    return 0;
}
