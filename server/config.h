/* The settings: one table, from which come the struct, the parser, --help and the redacted print.
 * Sources, later ones win: defaults, file (FIRN_CONFIG or --config), environment, flags. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "arena.h"
#include "base.h"
#include "buf.h"
#include "err.h"

/* TEXT: const char *, never NULL ("" when unset). LIST: texts separated by commas or spaces,
 * NULL-ended array. INT: within min..max. BYTES: as INT, with an optional suffix k, m or g (1024).
 * SECONDS: as INT, decimals allowed, stored in microseconds (min and max in seconds). BOOL: true,
 * false, on, off, yes, no, 1, 0 in any case. SECRET: TEXT that is never printed; FIRN_X_FILE names
 * a file with its value.
 *
 * The environment name is the key of the row; the flag of FIRN_S3_REGION is --s3-region (value
 * after a space or '='), its line in the file "s3_region = value" ('-' and '_' alike, a line that
 * begins with '#' is a comment). X(field, type, environment, default, min, max, help) */
#define CONFIG_SETTINGS(X)                                                                         \
    X(listen, TEXT, "FIRN_LISTEN", "127.0.0.1:8181", 0, 0,                                         \
        "Address and port of the catalog; port 0 takes a free one")                                \
    X(admin_listen, TEXT, "FIRN_ADMIN_LISTEN", "127.0.0.1:9181", 0, 0,                             \
        "Address and port of liveness, readiness and metrics")                                     \
    X(management_listen, TEXT, "FIRN_MANAGEMENT_LISTEN", "", 0, 0,                                 \
        "Address and port of warehouse administration; unset: that of the catalog")                \
    X(port_file, TEXT, "FIRN_PORT_FILE", "", 0, 0,                                                 \
        "File to write its addresses into, one a line, once the server is ready")                              \
    X(auth, TEXT, "FIRN_AUTH", "", 0, 0,                                                           \
        "\"none\" serves everybody, also on addresses other than loopback")                        \
    X(database, SECRET, "FIRN_DATABASE", "", 0, 0,                                                 \
        "sqlite:PATH or postgresql://USER@HOST/NAME; default: SQLite in $XDG_DATA_HOME/firn")      \
    X(pg_prepared, BOOL, "FIRN_PG_PREPARED", "true", 0, 0,                                         \
        "Named prepared statements; false behind poolers older than PgBouncer 1.21")               \
    X(pg_pool, INT, "FIRN_PG_POOL", "8", 1, 512, "Database connections of the slow lane")          \
    X(pg_connect_timeout, SECONDS, "FIRN_PG_CONNECT_TIMEOUT", "3", 1, 60,                          \
        "How long one attempt to connect to PostgreSQL may take")                                  \
    X(warehouse, TEXT, "FIRN_WAREHOUSE", "", 0, 0,                                                 \
        "Base of the default warehouse: file:///PATH, s3://BUCKET/PREFIX, gs://BUCKET/PREFIX or "  \
        "abfss://CONTAINER@ACCOUNT.dfs.core.windows.net/PATH")                                     \
    X(warehouse_name, TEXT, "FIRN_WAREHOUSE_NAME", "main", 0, 0, "Name of the default warehouse")  \
    X(warehouse_endpoints, LIST, "FIRN_WAREHOUSE_ENDPOINTS", "", 0, 0,                             \
        "Endpoints that warehouses may have: HOST[:PORT], *.DOMAIN, * (what is public); not: !PATTERN")     \
    X(warehouse_folders, LIST, "FIRN_WAREHOUSE_FOLDERS", "", 0, 0,                                 \
        "Folders, as file:///PATH, in which further warehouses may lie; unset: none")              \
    X(warehouse_identity, LIST, "FIRN_WAREHOUSE_IDENTITY", "", 0, 0,                               \
        "Places (s3://BUCKET/PREFIX) and roles (ARN, or BEGINS*) of warehouses that may use the "  \
        "server's own credentials; *: all; unset: none")                                           \
    X(warehouse_allow, LIST, "FIRN_WAREHOUSE_ALLOW", "", 0, 0,                                     \
        "Findings of a trial of the default warehouse's storage that are let pass")                 \
    X(allowed_locations, LIST, "FIRN_ALLOWED_LOCATIONS", "", 0, 0,                                 \
        "Further bases that clients may name when they create or register tables")                 \
    X(s3_endpoint, TEXT, "FIRN_S3_ENDPOINT", "", 0, 0, "URL of an S3 store other than AWS")        \
    X(s3_region, TEXT, "FIRN_S3_REGION", "", 0, 0, "Region; asked from the store when unset")      \
    X(s3_access_key_id, TEXT, "FIRN_S3_ACCESS_KEY_ID", "", 0, 0,                                   \
        "Access key; unset: the first of the other sources of keys")                               \
    X(s3_secret_access_key, SECRET, "FIRN_S3_SECRET_ACCESS_KEY", "", 0, 0, "Secret key")           \
    X(s3_session_token, SECRET, "FIRN_S3_SESSION_TOKEN", "", 0, 0, "Session token")                \
    X(s3_role_arn, TEXT, "FIRN_S3_ROLE_ARN", "", 0, 0,                                             \
        "Role to assume, with the keys from wherever they come, for all access to the store")      \
    X(s3_external_id, TEXT, "FIRN_S3_EXTERNAL_ID", "", 0, 0,                                       \
        "External id that the role's trust policy asks for")                                       \
    X(sts_endpoint, TEXT, "FIRN_STS_ENDPOINT", "", 0, 0,                                           \
        "URL of the service that gives keys of roles, or tokens; default: AWS's, Google's")        \
    X(s3_vend_role_arn, TEXT, "FIRN_S3_VEND_ROLE_ARN", "", 0, 0,                                   \
        "Role whose keys clients get, limited to their table's location; unset: they get none")    \
    X(s3_vend_duration, SECONDS, "FIRN_S3_VEND_DURATION", "3600", 900, 43200,                      \
        "How long such keys are good")                                                             \
    X(s3_vend_static, BOOL, "FIRN_S3_VEND_STATIC", "false", 0, 0,                                  \
        "Clients get the server's own static keys, which reach everything that it reaches")        \
    X(s3_remote_signing, TEXT, "FIRN_S3_REMOTE_SIGNING", "false", 0, 0,                            \
        "true: requests of clients that ask for it are signed; only: and no role's keys given")    \
    X(s3_client_endpoint, TEXT, "FIRN_S3_CLIENT_ENDPOINT", "", 0, 0,                               \
        "URL at which clients find the S3 store; default: FIRN_S3_ENDPOINT")                       \
    X(s3_path_style, TEXT, "FIRN_S3_PATH_STYLE", "auto", 0, 0,                                     \
        "true: bucket in the path; false: in the host name; auto: by the endpoint")                \
    X(s3_hadoop_schemes, BOOL, "FIRN_S3_HADOOP_SCHEMES", "false", 0, 0,                            \
        "Clients may spell locations s3a: and s3n:")                                               \
    X(gcs_endpoint, TEXT, "FIRN_GCS_ENDPOINT", "", 0, 0,                                           \
        "URL of Google's storage other than its own")                                              \
    X(gcs_key, SECRET, "FIRN_GCS_KEY", "", 0, 0,                                                   \
        "JSON of a service account's key; unset: the first of the other sources of tokens")        \
    X(gcs_project, TEXT, "FIRN_GCS_PROJECT", "", 0, 0,                                             \
        "Project that clients are told; default: that of the key")                                 \
    X(gcs_vend, BOOL, "FIRN_GCS_VEND", "false", 0, 0,                                              \
        "Clients get tokens of the server's account, limited to their table's location")           \
    X(azure_endpoint, TEXT, "FIRN_AZURE_ENDPOINT", "", 0, 0,                                       \
        "URL of an Azure store elsewhere than at its account's host: an emulator's, a proxy's")    \
    X(azure_account_key, SECRET, "FIRN_AZURE_ACCOUNT_KEY", "", 0, 0,                               \
        "Key of the storage account; unset: the first of the other sources")                       \
    X(azure_vend, TEXT, "FIRN_AZURE_VEND", "none", 0, 0,                                           \
        "What clients get: a signature for their table's directory, for the whole container, "     \
        "or none")                                                                                 \
    X(vend_unasked, BOOL, "FIRN_VEND_UNASKED", "true", 0, 0,                                       \
        "Clients that ask neither for credentials nor for anything else get credentials, where "   \
        "clients get any")                                                                         \
    X(secret_keys, SECRET, "FIRN_SECRET_KEYS", "", 0, 0,                                           \
        "Keys of secrets in the database, as ID:BASE64 of 32 bytes; the first seals, all open")    \
    X(cors_origins, LIST, "FIRN_CORS_ORIGINS", "", 0, 0,                                           \
        "Origins whose web pages may use the catalog, as browsers send them: https://HOST[:PORT]") \
    X(workers, INT, "FIRN_WORKERS", "0", 0, 256, "Event loops; 0: one per core")                   \
    X(slow_threads, INT, "FIRN_SLOW_THREADS", "0", 0, 1024,                                        \
        "Threads of the slow lane; 0: eight per core, at least 16")                                \
    X(slow_queue, INT, "FIRN_SLOW_QUEUE", "256", 1, 65536, "Calls that may wait for such a thread") \
    X(connection_limit, INT, "FIRN_CONNECTION_LIMIT", "1000", 1, 1000000,                          \
        "Client connections open at once")                                                         \
    X(body_limit, BYTES, "FIRN_BODY_LIMIT", "32m", 1024, 1073741824, "Largest request body")       \
    X(idle_timeout, SECONDS, "FIRN_IDLE_TIMEOUT", "75", 1, 3600,                                   \
        "Connections that are idle, also in a request line, are closed after this time")           \
    X(head_timeout, SECONDS, "FIRN_HEAD_TIMEOUT", "15", 1, 600,                                    \
        "Headers must be in this long after the request line, "                                    \
        "the line within FIRN_IDLE_TIMEOUT and this together")                                     \
    X(body_timeout, SECONDS, "FIRN_BODY_TIMEOUT", "60", 1, 3600,                                   \
        "The body must be in within this time")                                                    \
    X(request_timeout, SECONDS, "FIRN_REQUEST_TIMEOUT", "30", 1, 600,                              \
        "An unclear outcome of a change is settled for at most this time")                         \
    X(cache, BYTES, "FIRN_CACHE", "32m", 0, 1099511627776, "Metadata kept in memory")              \
    X(metadata_limit, BYTES, "FIRN_METADATA_LIMIT", "256m", 1048576, 4294967296,                   \
        "Largest metadata file, unpacked")                                                         \
    X(allowed_properties, LIST, "FIRN_ALLOWED_PROPERTIES", "", 0, 0,                               \
        "Properties that tables may have though clients take them for settings: NAME or BEGINS*")  \
    X(transaction_tables, INT, "FIRN_TRANSACTION_TABLES", "100", 1, 1000,                          \
        "Table changes in one transaction")                                                        \
    X(idempotency_lifetime, SECONDS, "FIRN_IDEMPOTENCY_LIFETIME", "1800", 0, 2592000,              \
        "How long answers to requests with an Idempotency-Key are kept; 0: keys are ignored")      \
    X(change_retention, SECONDS, "FIRN_CHANGE_RETENTION", "2592000", 1, 315360000,                 \
        "How long the record of changes is kept, by which repeated commits are recognised")        \
    X(purge, TEXT, "FIRN_PURGE", "allow", 0, 0,                                                    \
        "What a drop with purge does: allow, ignore (the files stay) or refuse (403)")             \
    X(purge_rate, INT, "FIRN_PURGE_RATE", "200", 0, 100000,                                        \
        "Files deleted in the background per second; 0 leaves them to other servers")              \
    X(sweep_grace, SECONDS, "FIRN_SWEEP_GRACE", "86400", 0, 315360000,                             \
        "Metadata files that no change came to name are deleted after twice this time; 0: never")  \
    X(start_timeout, SECONDS, "FIRN_START_TIMEOUT", "30", 0, 3600,                                 \
        "How long a start waits for the database")                                                 \
    X(drain_wait, SECONDS, "FIRN_DRAIN_WAIT", "0", 0, 3600,                                        \
        "Time between not being ready and refusing connections at a stop")                         \
    X(drain_timeout, SECONDS, "FIRN_DRAIN_TIMEOUT", "30", 0, 3600,                                 \
        "Time that calls are given at a stop, those whose body still comes in too")                                             \
    X(core_dumps, BOOL, "FIRN_CORE_DUMPS", "false", 0, 0,                                          \
        "A process that dies leaves a core, which holds its secrets")                              \
    X(log_level, TEXT, "FIRN_LOG_LEVEL", "info", 0, 0, "error, warn, info or debug")               \
    X(log_format, TEXT, "FIRN_LOG_FORMAT", "text", 0, 0, "text (key=value) or json")

#define CONFIG_C_TEXT    const char *
#define CONFIG_C_SECRET  const char *
#define CONFIG_C_LIST    const char *const *
#define CONFIG_C_INT     int64_t
#define CONFIG_C_BYTES   int64_t
#define CONFIG_C_SECONDS int64_t
#define CONFIG_C_BOOL    bool

struct config {
#define X(field, type, env, value, min, max, help) CONFIG_C_##type field;
    CONFIG_SETTINGS(X)
#undef X
};

/* From file, environment and flags (argv after the command word). Unset database and warehouse get
 * their defaults below $XDG_DATA_HOME/firn (~/.local/share/firn), whose folder is made by whoever
 * opens them. Checks every value, the words of purge, log_level, log_format, auth, s3_path_style,
 * s3_remote_signing, azure_vend, that the items of lists can match something, and that
 * listen and admin_listen are loopback addresses unless auth is "none". ERR_BAD_REQUEST says which
 * setting from which source, what was expected and found, and for an unknown name which one may
 * have been meant. Unknown FIRN_ variables are unknown names. Strings live in the arena. */
MUST bool config_load(struct arena *a, int argc, char *const *argv, char *const *environ_,
    struct config *out, struct err *err);
/* "host:port", "[::1]:port", ":port" taken apart. ERR_BAD_REQUEST. */
MUST bool config_address(
    struct arena *a, const char *address, const char **host, uint16_t *port, struct err *err);
/* The table of settings for --help: flag, environment name, default, help. */
void config_help(struct buf *out);
/* All settings as "key=value" lines for the log at debug level; secrets are shown as "***". */
void config_print(const struct config *c, struct buf *out);
