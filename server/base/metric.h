/* Counters, gauges and histograms from one table, rendered as Prometheus text. */
#pragma once

#include <stdint.h>

struct buf;

/* X(name, kind, help). Names get the prefix "firn_"; counters end in _total, times are seconds. */
#define METRICS(X)                                                                                 \
    X(requests_total, OP, "Requests answered, by operation and status class.")                     \
    X(request_seconds, OP_TIME, "Time from first byte to queued answer, by operation.")            \
    X(connections, GAUGE, "Client connections open now.")                                          \
    X(lane_queue, GAUGE, "Calls waiting for the slow lane.")                                       \
    X(lane_wait_seconds, TIME, "Time a call waited for the slow lane.")                            \
    X(lane_refused_total, COUNTER, "Calls refused because the slow lane was full.")                \
    X(lane_bounced_total, COUNTER, "Fast calls moved to the slow lane by a cache miss.")           \
    X(cache_hits_total, COUNTER, "Metadata found in the cache.")                                   \
    X(cache_misses_total, COUNTER, "Metadata fetched from the store.")                             \
    X(cache_evictions_total, COUNTER, "Metadata pushed out of the cache.")                         \
    X(cache_bytes, GAUGE, "Bytes of metadata in the cache.")                                       \
    X(sql_statements_total, COUNTER, "Statements sent to the database.")                           \
    X(sql_seconds, TIME, "Time of a database round trip.")                                         \
    X(sql_wait_seconds, TIME, "Time a call waited for a pooled connection.")                       \
    X(sql_reconnects_total, COUNTER, "Database connections opened again after a loss.")            \
    X(store_seconds, TIME, "Time of a request to the object store.")                               \
    X(store_requests_total, COUNTER, "Requests to the object store.")                              \
    X(store_retries_total, COUNTER, "Requests to the object store that were sent again.")          \
    X(keys_fetched_total, COUNTER, "Times the server got keys of its own for the object store.")   \
    X(keys_failures_total, COUNTER, "Times it asked for such keys and got none.")                  \
    X(vended_total, COUNTER, "Credentials given to clients.")                                      \
    X(vend_requests_total, COUNTER, "Credentials for clients asked of a token service.")           \
    X(vend_failures_total, COUNTER, "Times it gave none.")                                         \
    X(signed_total, COUNTER, "Requests of clients to the store that were signed.")                 \
    X(sign_refusals_total, COUNTER, "Requests that were not.")                                     \
    X(vend_bytes, GAUGE, "Bytes of credentials kept for clients.")                                 \
    X(commits_applied_total, COUNTER, "Commits that moved a pointer.")                             \
    X(commits_noop_total, COUNTER, "Commits that changed nothing.")                                \
    X(commits_requirement_total, COUNTER, "Commits refused by a requirement.")                     \
    X(commits_lost_total, COUNTER, "Swaps lost to another writer, then tried again.")              \
    X(commits_unknown_total, COUNTER, "Commits whose outcome could not be learned.")               \
    X(idempotency_replays_total, COUNTER, "Requests answered as an earlier one with their key.")   \
    X(pruned_rows_total, COUNTER, "Kept answers, changes and leases upkeep deleted.")                 \
    X(json_parses_total, COUNTER, "Texts parsed into a tree.")                                     \
    X(json_scans_total, COUNTER, "Metadata documents scanned.")                                    \
    X(json_dumps_total, COUNTER, "Fragments written from a tree.")                                 \
    X(bytes_copied_total, COUNTER, "Metadata bytes copied by commits.")                            \
    X(bytes_joined_total, COUNTER, "Bytes of short answers that were put into one piece.")         \
    X(allocations_total, COUNTER, "Allocations outside arenas.")                                   \
    X(scan_reports_total, COUNTER, "Scan reports received.")                                       \
    X(commit_reports_total, COUNTER, "Commit reports received.")                                   \
    X(unknown_reports_total, COUNTER, "Reports of a type that this server does not know.")         \
    X(leftover_files_total, COUNTER, "Files that a change made useless, deleted after its answer.") \
    X(leftover_dropped_total, COUNTER, "Such files that stay, since too many waited.")        \
    X(sweep_files_total, COUNTER, "Metadata files deleted that no commit came to name.")           \
    X(sweep_errors_total, COUNTER, "Folders that could not be swept, files that could not be deleted.") \
    X(sweep_rounds_total, COUNTER, "Sweeps that came to their end.")                               \
    X(purge_files_total, COUNTER, "Files of dropped tables that were deleted.")                    \
    X(purge_errors_total, COUNTER, "Files of dropped tables that could not be read or deleted.")   \
    X(purge_reads_total, COUNTER, "Files read to learn what tables name that are not purged.")     \
    X(purge_tables_total, COUNTER, "Purges of tables that came to their end.")                     \
    X(arena_peak_bytes, GAUGE, "Largest memory use of one call.")

enum metric {
#define X(name, kind, help) METRIC_##name,
    METRICS(X)
#undef X
        METRIC_COUNT
};

/* The names of the operations, once, before any thread counts by operation. */
void metric_ops(const char *const *names, unsigned n);

void metric_add(enum metric m, uint64_t n);
/* Gauges: set, or change by a signed amount. */
void metric_set(enum metric m, int64_t v);
void metric_change(enum metric m, int64_t by);
void metric_max(enum metric m, int64_t v);
/* Times in microseconds. */
void metric_observe(enum metric m, int64_t us);
void metric_op(unsigned op, int status, int64_t us);
/* Text in Prometheus' exposition format. */
void metric_render(struct buf *out);
