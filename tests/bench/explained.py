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
SHARED = (
    "What is left in the server are the request, the lookup, the body and the draft, and the wait for a turn; in PostgreSQL the "
    "lookup, and a change row with its three indexes. Commits of different tables that are ready together share a statement, a "
    "transaction and a flush.")
PARTS = (
    "The statements are five whatever the number of tables, and all files are written before the first is flushed. Where the "
    "file system has a journal one write of it carries many and the figure is 0.22; on ext4 without one, as on the machine of "
    "this table, each file and each folder has a flush and an inode of its own, and 83 % of the server's time are these calls. "
    "syncfs would be one call for all (an eighth of the CPU), but waits for whatever else is being written on that disk.")
FOLDERS = (
    "SeaweedFS's catalog flushes nothing. Creates that are ready together share a statement and a flush of PostgreSQL; on a store "
    "that keeps nothing (null-create) that leaves the request, the body and its checks, a lookup, and in PostgreSQL three rows with "
    "their index entries. The rest of the server's part is the file system's: a file, three folders, four flushes. Without a "
    "journal the flush of the file writes nine blocks one after the other.")
QUEUE = (
    "On one table commits take turns; each wakes the next, which finds PostgreSQL's session of another thread colder than a "
    "lone writer does.")

NOISE = (
    "Both cost the same but for the size of the batches of lookups, which the kernel decides with the connections that it gives to "
    "each worker: 4 to 6 µs between two rounds of one row.")
APART = (
    "Requests of one batch for the same row share a look. Among 100 tables, asked for at random, some do; among 10,000 hardly "
    "any, and each row lies on another page: 2 to 3 µs of PostgreSQL's. What is asked of 32 tables among as many (304, commits) "
    "costs the same.")
CROWD = (
    "The server's part is the same. The rows of a million tables and their index are larger than PostgreSQL's default 128 MB of "
    "buffers, and each request asks for another one: most pages are copied from the page cache. Where some tables are asked for "
    "more often than others (load-zipf) it is less.")
SWINGS = (
    "Half of the time of a commit is the file system's search for a free inode when many files were deleted in the last seconds, "
    "as between these rounds.")
AMONG = "{} among {} tables to one among 100"

WHY = {
    "config: to its floor": REQUEST,
    "load 10 KB: µs of CPU": LOOKUP,
    "load 10 KB: to the same server without the lookup": LOOKUP + " The look at the file is 2.7 µs of it.",
    "load 1 MB: to a static answer": LOOKUPS_SHARE,
    "load 1 MB, gzip: to a static answer of the packed size": LOOKUPS_SHARE,
    "load 50 MB: to a static answer": LOOKUPS_SHARE,
    "304 to a load of 10 KB": FEW_MICROSECONDS,
    "304 of 50 MB to 304 of 10 KB": NOISE,
    "refs of 9,000 snapshots: to a static answer": LOOKUPS_SHARE,
    "list of 100,000: MB of memory":
        "The first such lists of a server touch the allocator's arenas, zlib's and the stacks of the slow lane's threads.",
    "commit, store that keeps nothing: µs of CPU": SHARED,
    "commit, store that keeps nothing: to its floor": SHARED,
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
    "10,000 tables with keys: MB of memory":
        "8 MB are kept, whatever the number of tables; what is on top are holes between texts that came and went, which go back to "
        "the system when nothing is left beside them.",
    "commit-10k-1: times less than the best peer":
        "SeaweedFS's catalog flushes nothing. Here the file, its folder and PostgreSQL's log are flushed before the answer, and a "
        "lone client shares none of these flushes; among 32 clients it is more than six times less.",
    "create-few: times less than the best peer": FOLDERS,
    **{AMONG.format(name, "10,000"): APART for name in ("load", "refs", "exists")},
    **{AMONG.format(name, "1,000,000"): CROWD for name in ("load", "refs", "exists")},
    **{AMONG.format("304", count): NOISE for count in ("10,000", "1,000,000")},
    **{AMONG.format("commit", count): SWINGS for count in ("10,000", "1,000,000")},
}
