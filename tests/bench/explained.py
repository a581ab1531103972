"""Targets that are missed, or were, on some machine: where the time goes and what it would take. Told beside a figure that
misses."""

REQUEST = (
    "What is on top of the bare reply is what makes a request one of ours: its id, its line in the log, its counters, the "
    "check of each header line, and headers of the answer that libmicrohttpd copies into a list and writes one by one.")
LOOKUP = (
    "A statement costs PostgreSQL about as much for one key as for eight, so the lookup's share depends on how many requests "
    "come in one turn of a loop: half of the connections that the kernel gave the worker. The same row is asked for once. "
    "One connection for all workers would double the batches and make them wait for each other.")
LOOKUPS_SHARE = (
    "What is on top of the bytes is mostly the lookup: such answers take so long to send that requests come nearly one by "
    "one, and few share a statement. Head and body go out in two calls (7 % of 1 MB); in one, the document would have to lie "
    "in memory with the frame of the answer around it.")
FEW_MICROSECONDS = (
    "The request, the lookup and the look at the file are in both, as in both floors; a load has become so cheap that it costs "
    "only the copy of its bytes more. A 304 would have to skip the lookup, which is what makes it true.")
ONE_BY_ONE = (
    "A commit is a statement and a transaction of its own, most of which is PostgreSQL's time. Commits of several tables in "
    "one statement would take three quarters off that; they need a queue between the slow lane and the database, and a way to "
    "tell each caller its own outcome when one of them fails.")
PARTS = (
    "It costs what its parts cost: each table's file is written and flushed after the one before, each swap and change row is "
    "a statement of its own. One statement for all rows would take most of PostgreSQL's part and leave that of the file system.")
FOLDERS = (
    "createTable makes three folders and a file with five flushes, and asks the database nine times. Half of it is the file "
    "system's, which an object store does not have; for fewer statements the check of places has to become part of the insert.")
QUEUE = (
    "On one table commits take turns; each wakes the next, which finds PostgreSQL's session of another thread colder than a "
    "lone writer does.")

WHY = {
    "config: to its floor": REQUEST,
    "load 10 KB: µs of CPU": LOOKUP,
    "load 10 KB: to the same server without the lookup": LOOKUP + " The look at the file is 2.7 µs of it.",
    "load 1 MB: to a static answer": LOOKUPS_SHARE,
    "load 1 MB, gzip: to a static answer of the packed size": LOOKUPS_SHARE,
    "load 50 MB: to a static answer": LOOKUPS_SHARE,
    "304 to a load of 10 KB": FEW_MICROSECONDS,
    "refs of 9,000 snapshots: to a static answer": LOOKUPS_SHARE,
    "list of 100,000: MB of memory":
        "The first such lists of a server touch the allocator's arenas, zlib's and the stacks of the slow lane's threads.",
    "commit, store that keeps nothing: µs of CPU": ONE_BY_ONE,
    "commit, store that keeps nothing: to its floor": ONE_BY_ONE,
    "commit on 1 MB: to jansson's reading and writing":
        "Half of the server's time is the file: a megabyte written into the page cache and flushed. On a store that keeps "
        "nothing the ratio is a third of this.",
    "1 ms flush: commits/s of 64 clients to one":
        "With 64 clients the processors are the limit, no longer the flushes: the CPU of so many commits and that of the load "
        "generator fill the cores.",
    "one table: commits/s of 32 writers to one": QUEUE,
    "one table: PostgreSQL's CPU, 32 writers to one": QUEUE,
    "transaction of 32 tables to 32 commits": PARTS,
    "load with keys to one without":
        "The answer is 4 KB longer, since a session token of 1.5 KB stands in it twice, as clients want it; the other load has "
        "the bytes of its table only.",
    "create-few: times less than the best peer": FOLDERS,
}
