"""Targets that are missed, or were: where the time goes and what it would take. Told beside a figure that misses."""

FEW_MICROSECONDS = (
    "The request and its answer, the lookup and the look at the file are in both; a load has become so cheap that it costs "
    "only the copy of its 10 KB more, as the two floors do. A 304 would have to skip the lookup, which is what makes it true.")
LOOKUPS_SHARE = (
    "What is on top of the bytes is the share of a lookup: at this rate requests come nearly one by one, so that few share "
    "a statement. A second request in the same statement costs PostgreSQL 2 to 3 µs, the first one 25 to 45.")
PARTS = (
    "Its cost is that of the parts: each table's file is written and flushed after the one before, each swap and change row "
    "is a statement of its own. One statement for all rows, and flushes side by side, would take most of PostgreSQL's part "
    "and leave that of the file system.")
ONE_BY_ONE = (
    "A commit is a statement and a transaction of its own, which PostgreSQL answers for about 200 µs. Commits of several "
    "tables in one statement would take three quarters off that; they need a queue between the slow lane and the database "
    "and a way to tell each caller its own outcome when one of them fails.")
WHOLE_LIST = (
    "CPU is that of COPY and the bytes, but the whole answer is made before its first byte leaves, in memory that is given "
    "back. It would have to be written in pieces while rows come, from a thread that may wait for the database and the "
    "client both, and a client that reads slowly would hold a connection to the database.")
FOLDERS = (
    "createTable makes three folders, a file and five flushes, and asks the database nine times (namespace, name, place and "
    "those above it, the row, the change). Half is the file system's, which an object store does not have. Fewer statements "
    "need the check of places inside the insert.")

WHY = {
    "config: to its floor": "What is on top is the request's id, its line in the log, its counters, the check of each "
        "header line and the answer's own six header lines, which libmicrohttpd keeps in a list and writes one by one.",
    "load 10 KB: to the same server without the lookup": "PostgreSQL takes half of the difference (a share of one statement "
        "for some 7 to 15 requests), the look at the file 2.7 µs, libpq and the turn of the loop that waits the rest.",
    "load 1 MB: to a static answer": LOOKUPS_SHARE + " The head goes out in a packet of its own (7 %).",
    "load 1 MB, gzip: to a static answer of the packed size": LOOKUPS_SHARE,
    "load 50 MB: to a static answer": LOOKUPS_SHARE,
    "304 to a load of 10 KB": FEW_MICROSECONDS,
    "refs of 9,000 snapshots: to a static answer": LOOKUPS_SHARE,
    "list of 100,000: ms to the first byte": WHOLE_LIST,
    "list of 100,000: MB of memory": WHOLE_LIST,
    "commit, store that keeps nothing: µs of CPU": ONE_BY_ONE,
    "commit, store that keeps nothing: to its floor": ONE_BY_ONE,
    "commit on 1 MB: to jansson's reading and writing": "Half of the server's time is the file: a megabyte written into the "
        "page cache and flushed. Without a store the figure below holds.",
    "1 ms flush: commits/s of 64 clients to one": "With 64 clients the processors are the limit, no longer the flushes: rate "
        "times CPU for a commit, and the load generator, fill both cores.",
    "one table: commits/s of 32 writers to one": "A lone writer finds its table's row and file fresh each time; 32 take turns "
        "in a queue, each woken for its own turn.",
    "transaction of 32 tables to 32 commits": PARTS,
    "create-few: times less than the best peer": FOLDERS,
}
