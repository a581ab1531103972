/* Objects in a store, named by URI: s3://bucket/key, gs://bucket/name, file:/path. Bytes and names,
 * nothing of Iceberg. Everything here may block: slow lane only (asserted). Safe for use by many
 * threads at once. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "buf.h"
#include "err.h"
#include "str.h"

struct arena;
struct store;

struct store_conf {
    /* The warehouse: "s3://bucket/prefix", "gs://bucket/prefix",
     * "abfss://container@account.dfs.core.windows.net/path" or "file:///srv/wh". */
    const char *base;
    const char *const *allowed; /* further bases that clients may name, NULL-ended; may be NULL */
    /* Keys kept sealed, in memory of the arena that is wiped. S3: access key, secret key and
     * perhaps a session token, one a line; GCS: as gcs_key; Azure: an account's key, or tenant,
     * client and its secret, one a line. Called by any thread; NULL: there are none. */
    bool (*sealed)(void *ctx, struct arena *a, struct str *out, struct err *err);
    void *sealed_ctx;
    /* Of what the server finds around it: the first there is, or its web identity or that of its
     * machine and nothing else. */
    enum store_identity { STORE_IDENTITY_ANY, STORE_IDENTITY_WEB, STORE_IDENTITY_MACHINE } identity;
    const char *s3_endpoint; /* "http://127.0.0.1:8333"; NULL: AWS */
    const char *s3_region;   /* NULL: discovered from the store */
    /* NULL: sealed ones, the environment, a web identity, shared files, the machine's identity. */
    const char *s3_access_key_id, *s3_secret_access_key, *s3_session_token;
    const char *s3_role_arn, *s3_external_id; /* to be assumed for all access; may be NULL */
    const char *sts_endpoint; /* who gives keys of roles, or tokens; NULL: AWS, Google */
    const char *gcs_endpoint; /* NULL: Google's own */
    /* The JSON of a service account's key. NULL: a sealed one, the environment, the machine. */
    const char *gcs_key;
    const char *gcs_token;   /* an access token, as a client has it; NULL: none */
    const char *gcs_project; /* told to clients; NULL: that of the key */
    /* What clients get: tokens, limited to a folder each. */
    enum store_gcs_vend { STORE_GCS_NOTHING, STORE_GCS_TOKENS } gcs_vend;
    /* Where the server shows its own web identity, which is nobody else's to see; NULL: AWS. */
    const char *identity_endpoint;
    /* Which addresses the hosts above, and that for clients, may have. Those that the operator has
     * named may be private, and none at all is for one that is no longer allowed; no
     * address is where a machine tells its identity. */
    enum store_reach {
        STORE_REACH_PRIVATE,
        STORE_REACH_PUBLIC,
        STORE_REACH_NONE
    } endpoint_reach,
        sts_reach, client_reach;
    const char *azure_endpoint; /* "http://127.0.0.1:10000/account"; NULL: the location's host */
    /* NULL: an application, sealed keys, the environment, the machine's identity. */
    const char *azure_account_key;
    const char *azure_tenant_id, *azure_client_id, *azure_client_secret; /* an application's */
    const char *azure_sas;                                               /* as a client has it */
    /* What clients get: access to their folder, or, where the account has no directories to limit
     * it to, to all of the container. */
    enum store_azure_vend {
        STORE_AZURE_NOTHING,
        STORE_AZURE_DIRECTORY,
        STORE_AZURE_CONTAINER
    } azure_vend;
    /* May that be signed with the account's key, which only a new key takes back? */
    enum store_azure_signer { STORE_AZURE_USER_KEY, STORE_AZURE_ANY_KEY } azure_signer;
    /* What clients get (vend.h): keys of this role, limited to a folder each; NULL: none. */
    const char *vend_role_arn;
    int vend_duration_s;         /* 0: 3,600 */
    const char *client_endpoint; /* where clients find the store; NULL: where the server does */
    enum store_share { STORE_SHARE_NONE, STORE_SHARE_KEYS } vend_static; /* the store's own keys */
    /* Requests of clients are signed (sign.h): not; for those who ask for no keys; for those who
     * ask for both; for all, and the role's keys serve that alone. */
    enum store_sign { STORE_SIGN_NOTHING, STORE_SIGN_ELSE, STORE_SIGN_FIRST, STORE_SIGN_ONLY } sign;
    /* What clients get that name no way at all: keys, where there are any for clients. */
    enum store_unasked { STORE_UNASKED_KEYS, STORE_UNASKED_NOTHING } unasked;
    enum store_style { STORE_STYLE_AUTO, STORE_STYLE_PATH, STORE_STYLE_VIRTUAL } s3_style;
    const char *const *allow; /* findings of a trial to let pass (finding.h), NULL-ended or NULL */
    /* Do clients bring locations that are spelled s3a: and s3n:? Where a root is, they do. */
    enum store_schemes { STORE_SCHEMES_OWN, STORE_SCHEMES_HADOOP } s3_schemes;
    int s3_deadline_ms; /* of one operation with all its retries; 0: 20,000 */
};

/* Opens what the base and the allowed locations need; waits for no network. file: bases are
 * created. Strings of conf for S3 must outlive the store.
 * ERR_STORE_BAD_URI, ERR_STORE_DENIED, ERR_INTERNAL, each with words for the operator. */
MUST bool store_open(const struct store_conf *conf, struct store **out, struct err *err);
void store_close(struct store **s);

/* Where a location lies, in the form that decides containment and overlap: scheme and host or
 * bucket
 * ("s3://bucket", "file:"), and the path behind it, beginning with '/', without trailing slash,
 * empty segments, "." or "..". Both spellings file:/x and file:///x have the authority "file:". */
struct location {
    struct str authority;
    struct str path;
};
/* ERR_STORE_BAD_URI for anything this server cannot hold: unknown scheme, user info, query,
 * fragment, dot segments, control characters, above 1,024 bytes. */
MUST bool location_parse(struct arena *a, struct str uri, struct location *out, struct err *err);
/* The same in the form in which places are compared across warehouses, which may spell one place in
 * several ways: file: paths without links, buckets in lower case. Looks at the file system. */
MUST bool location_identity(struct arena *a, struct str uri, struct location *out, struct err *err);
/* All places where some client may look for a file of that name, however it is spelled, in a form
 * in which they are compared with one another only: ASCII, decoded, scheme and host in lower case,
 * with and without the links of a file system. Of names that differ and mean one object at least
 * one place is the same; some that mean two may share one. own, or NULL: where the table lies that
 * names it, as a place of this function. None: no client of a store that we know finds it. Looks at
 * the file system. */
enum { SPELLED_MAX = 8 };
size_t location_spelled(struct arena *a, struct str uri, const struct location *own,
    struct location out[static SPELLED_MAX]);
/* Is inner equal to outer or beneath it, on whole segments? */
bool location_within(const struct location *inner, const struct location *outer);

/* The host of "http://host:port/", with its port unless that is the scheme's own; borrowed.
 * ERR_STORE_BAD_URI names `what` and does not show the text, which may hold a password. */
MUST bool store_endpoint_host(struct str uri, const char *what, struct str *host, struct err *err);
/* The numeric address that a host is, in one form for all its spellings: decimal, octal and
 * hexadecimal numbers, IPv6 with or without brackets, IPv4 held in it. False: the host is a name.
 */
enum { STORE_ADDRESS = 64 };
MUST bool store_address(struct str host, char out[STORE_ADDRESS]);
/* Letters, digits, '.', '-' and '_', 1 to 48 of them: a part of host names and of signatures. */
bool store_is_region(struct str region);

/* May clients' locations and metadata files be at uri: beneath the base or an allowed location?
 * ERR_STORE_BAD_URI when it is no location, ERR_STORE_DENIED when it lies elsewhere. */
MUST bool store_check(struct arena *a, const struct store *s, struct str uri, struct err *err);
/* The same of one that a client brings now, which must not be spelled as some clients do not know
 * it. */
MUST bool store_check_new(struct arena *a, const struct store *s, struct str uri, struct err *err);
/* The base as configured, without trailing slash: spelled as the operator spelled it. */
struct str store_base(const struct store *s);
/* Sentences for the operator about what store_open and the trials found; absent: nothing. */
struct str store_warning(const struct store *s);
/* Does this store keep its objects as files of this machine? (A load then checks the file.) */
bool store_is_file(struct str uri);
/* The kind of store that a location lies in: "file", "s3", "gcs", "adls"; NULL when it is no
 * location. */
const char *store_kind(struct str uri);

/* All of these: ERR_STORE_NOT_FOUND, ERR_STORE_EXISTS, ERR_STORE_DENIED, ERR_STORE_BAD_URI,
 * ERR_TOO_LARGE; ERR_UNAVAILABLE: trying later may help, and nothing was done;
 * ERR_STORE_FULL: no room (disk, quota) until somebody makes some, and nothing was done;
 * ERR_INTERNAL: trying again will not help (bucket missing: says so), nothing was done.
 */

/* Whole object, at most max bytes, into *out (initialised by the callee; caller calls buf_fini). */
MUST bool store_get(struct store *s, struct str uri, size_t max, struct buf *out, struct err *err);
/* Writes the pieces, joined, under a name that must not exist; durable when it returns true. A
 * failure leaves nothing, or an object nobody will name. Also makes missing folders (file:). */
MUST bool store_put_new(struct store *s, struct str uri, const struct str *pieces, size_t n,
    const char *content_type, struct err *err);
/* Several at once, each as above, which costs less than one after the other. False: *at tells which
 * one could not be written; of the others some were, and say so. */
struct store_file {
    struct str uri;
    const struct str *pieces;
    size_t n;
    const char *content_type;
    bool written; /* set here */
};
MUST bool store_put_all(
    struct store *s, struct store_file *files, size_t n, size_t *at, struct err *err);
/* The same for the first file of a new place, PLACE/FOLDER/NAME. Where a store has folders, the
 * place also gets the folder `beside` (NULL: none), which clients expect, and all becomes durable
 * at once. */
MUST bool store_put_first(
    struct store *s, const struct store_file *f, const char *beside, struct err *err);
/* Deleting what is not there succeeds. */
MUST bool store_delete(struct store *s, struct str uri, struct err *err);
/* Folders a client expects below a new table (file: only; elsewhere nothing). */
MUST bool store_make_dir(struct store *s, struct str uri, struct err *err);
/* Never blocks long and is allowed in the fast lane: is the file there? file: only. */
bool store_file_present(struct store *s, struct str uri);

struct store_entry {
    struct str uri;
    int64_t size;
    int64_t modified_ms;
};
/* Objects beneath the folder uri, up to `limit`, in no promised order. */
MUST bool store_list(struct arena *a, struct store *s, struct str uri, size_t limit,
    struct store_entry **out, size_t *n_out, struct err *err);
/* Of them those whose names end so, and what store_is_scrap says of. */
MUST bool store_list_ending(struct arena *a, struct store *s, struct str uri, struct str ending,
    size_t limit, struct store_entry **out, size_t *n_out, struct err *err);
/* A file that was being written when its writer ended, and has no name yet. */
bool store_is_scrap(struct str uri);
/* Folders right beneath the folder uri, without trailing slash, size or time. */
MUST bool store_list_folders(struct arena *a, struct store *s, struct str uri, size_t limit,
    struct store_entry **out, size_t *n_out, struct err *err);
/* Can the base be written, read back, listed and deleted, and does of two writers of a name the
 * first one win? ERR_INTERNAL also for a finding that is not allowed; store_warning tells of those
 * that are. */
MUST bool store_probe(struct store *s, struct err *err);
