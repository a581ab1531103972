/* What the machine tells about its identity: the container's endpoint (ECS, EKS pod identity) and
 * the instance metadata service (EC2), version 2 of its protocol only. */
#include "source_priv.h"

#include "answer.h"
#include "arena.h"
#include "base.h"
#include "buf.h"
#include "clock.h"
#include "endpoint.h"
#include "fetch.h"
#include "store.h"
#include "xml.h"

#include <arpa/inet.h>
#include <string.h>

enum {
    ANSWER_MAX = 64 * 1024,
    CONTAINER_US = 2000000,
    INSTANCE_US = 1000000, /* of one try: where there is no such service, nobody answers */
    INSTANCE_TRIES = 2,
};

/* --- their answer ------------------------------------------------------------------------------
 */

static bool read_keys(struct str doc, const char *who, struct credentials **out, struct err *err)
{
    AUTO(answer_free) json_t *json = json_loadb(doc.p, doc.n, 0, NULL);
    struct str id = answer_text(json, "AccessKeyId"), secret = answer_text(json, "SecretAccessKey");
    int64_t expires = clock_parse(answer_text(json, "Expiration"));
    struct str code = answer_text(json, "Code");
    if (code.p && !str_eq(code, STR("Success")))
        return err_set(
            err, ERR_INTERNAL, "%s has no keys: it says %.*s", who, STR_ARG(str_sub(code, 0, 64)));
    if (id.n == 0 || secret.n == 0 || expires == 0)
        return err_set(err, ERR_INTERNAL, "the answer of %s has no %s", who,
            !json           ? "JSON"
            : id.n == 0     ? "AccessKeyId"
            : secret.n == 0 ? "SecretAccessKey"
                            : "Expiration");
    *out = credentials_new(id, secret, answer_text(json, "Token"), expires);
    return true;
}

/* --- the container -----------------------------------------------------------------------------
 */

bool machine__container_given(const struct store_conf *conf)
{
    (void)conf;
    return source__env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI").p ||
           source__env("AWS_CONTAINER_CREDENTIALS_FULL_URI").p;
}

/* The token goes to this machine and to the addresses that AWS answers at, to nobody else. */
static bool is_here(struct str host)
{
    static const char *const known[] = {
        "localhost", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]"};
    struct in_addr four;
    char text[INET_ADDRSTRLEN] = "";
    size_t port = host.n;
    while (port > 0 && host.p[port - 1] >= '0' && host.p[port - 1] <= '9')
        port--;
    if (port > 1 && port < host.n && host.p[port - 1] == ':')
        host.n = port - 1;
    for (size_t i = 0; i < ARRAY_LEN(known); i++)
        if (str_eq_nocase(host, str_from(known[i])))
            return true;
    if (host.n >= sizeof(text))
        return false;
    memcpy(text, host.p, host.n);
    return inet_pton(AF_INET, text, &four) == 1 && ntohl(four.s_addr) >> 24 == 127;
}

static bool full_uri(struct arena *a, struct str *out, struct err *err)
{
    struct str uri = source__env("AWS_CONTAINER_CREDENTIALS_FULL_URI");
    struct str rest = str_sub(uri, str_starts(uri, STR("https://")) ? 8 : 7, uri.n);
    size_t path = str_find(rest, '/');
    struct str head = str_sub(uri, 0, uri.n - (rest.n - path));
    struct endpoint at;
    TRY(endpoint_parse(head, "AWS_CONTAINER_CREDENTIALS_FULL_URI", &at, err));
    if (!is_here(at.host))
        return err_set(err, ERR_INTERNAL,
            "AWS_CONTAINER_CREDENTIALS_FULL_URI leads to %.*s: expected a loopback address, "
            "169.254.170.2, 169.254.170.23 or fd00:ec2::23",
            STR_ARG(at.host));
    *out = path < rest.n ? uri : arena_printf(a, "%.*s/", STR_ARG(uri));
    return true;
}

static bool container_uri(struct arena *a, struct str *out, struct err *err)
{
    struct str relative = source__env("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI");
    if (!relative.p)
        return full_uri(a, out, err);
    if (relative.p[0] != '/')
        return err_set(err, ERR_INTERNAL,
            "AWS_CONTAINER_CREDENTIALS_RELATIVE_URI is no path: expected it to begin with '/'");
    *out = arena_printf(a, "http://169.254.170.2%.*s", STR_ARG(relative));
    return true;
}

static bool container_token(struct arena *a, struct str *out, struct err *err)
{
    struct str file = source__env("AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE");
    *out = source__env("AWS_CONTAINER_AUTHORIZATION_TOKEN");
    return !file.p || source__file(a, file, out, err);
}

static bool container_refused(
    struct arena *a, const struct fetch_response *rs, struct str uri, struct err *err)
{
    AUTO(answer_free) json_t *json = answer_json(rs);
    struct str why = answer_words(a, json, "message");
    if (!why.p)
        why = answer_words(a, json, "Message");
    err_set(err, rs->status == 429 || rs->status >= 500 ? ERR_UNAVAILABLE : ERR_INTERNAL,
        "%.*s answered %d", STR_ARG(str_sub(uri, 0, str_find(uri, '?'))), rs->status);
    return err_quote(err, why);
}

bool machine__container(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    AUTO(answer_fini) struct fetch_response rs = {0};
    struct fetch_header token = {
        STR("Authorization"), {NULL, 0}
    };
    struct str uri = STR("");
    (void)conf;
    TRY(container_uri(a, &uri, err));
    TRY(container_token(a, &token.value, err));
    const struct fetch_request rq = {
        .method = "GET",
        .url = uri,
        .headers = &token,
        .n_headers = token.value.n > 0,
        .max_body = ANSWER_MAX,
        .deadline_us = clock_mono_us() + CONTAINER_US,
        .reach = FETCH_ANYWHERE,
    };
    TRY(fetch_do(a, &rq, &rs, err));
    if (rs.status != 200)
        return container_refused(a, &rs, uri, err);
    return read_keys(buf_view(&rs.body), "the container's endpoint", out, err);
}

/* --- the instance ------------------------------------------------------------------------------
 */

bool machine__instance_given(const struct store_conf *conf)
{
    (void)conf;
    return !str_eq_nocase(source__env("AWS_EC2_METADATA_DISABLED"), STR("true"));
}

static bool instance_endpoint(struct arena *a, struct str *out, struct err *err)
{
    struct str uri = source__env("AWS_EC2_METADATA_SERVICE_ENDPOINT");
    struct str mode = source__env("AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE");
    struct endpoint at;
    if (!uri.p)
        uri = str_eq_nocase(mode, STR("IPv6")) ? STR("http://[fd00:ec2::254]")
                                               : STR("http://169.254.169.254");
    TRY(endpoint_parse(uri, "AWS_EC2_METADATA_SERVICE_ENDPOINT", &at, err));
    *out = arena_printf(a, "%s://%.*s", endpoint_word(at.scheme), STR_ARG(at.host));
    return true;
}

/* Caller: answer_fini. */
static bool instance_ask(struct arena *a, const char *method, struct str url,
    const struct fetch_header *header, struct fetch_response *rs, struct err *err)
{
    const struct fetch_request rq = {
        .method = method,
        .url = url,
        .headers = header,
        .n_headers = 1,
        .max_body = ANSWER_MAX,
        .reach = FETCH_ANYWHERE,
    };
    for (int tries = 1;; tries++) {
        struct fetch_request now = rq;
        now.deadline_us = clock_mono_us() + INSTANCE_US;
        bool answered = fetch_do(a, &now, rs, err);
        bool again = answered ? rs->status >= 500 : err->kind == ERR_UNAVAILABLE;
        if (!again || tries == INSTANCE_TRIES)
            return answered;
        answer_fini(rs);
    }
}

static bool instance_token(struct arena *a, struct str at, struct str *out, struct err *err)
{
    AUTO(answer_fini) struct fetch_response rs = {0};
    const struct fetch_header header = {STR("X-aws-ec2-metadata-token-ttl-seconds"), STR("21600")};
    struct str url = arena_printf(a, "%.*s/latest/api/token", STR_ARG(at));
    if (!instance_ask(a, "PUT", url, &header, &rs, err))
        return err_wrap(err, "the instance metadata service does not answer (for containers its "
                             "hop limit must be 2)");
    *out = arena_dup(a, buf_view(&rs.body));
    if (rs.status == 200 && out->n > 0)
        return true;
    return err_set(err, rs.status >= 500 ? ERR_UNAVAILABLE : ERR_INTERNAL,
        "the instance metadata service gave no session token: PUT %.*s was answered %d",
        STR_ARG(url), rs.status);
}

/* GET of one document; `what` it holds, for messages. */
static bool instance_get(struct arena *a, struct str url, struct str token, const char *what,
    struct str *out, struct err *err)
{
    AUTO(answer_fini) struct fetch_response rs = {0};
    const struct fetch_header header = {STR("X-aws-ec2-metadata-token"), token};
    TRY(instance_ask(a, "GET", url, &header, &rs, err));
    *out = arena_dup(a, buf_view(&rs.body));
    return rs.status == 200 ||
           err_set(err, rs.status >= 500 ? ERR_UNAVAILABLE : ERR_INTERNAL,
               "the instance metadata service names no %s: GET %.*s was answered %d%s", what,
               STR_ARG(url), rs.status, rs.status == 404 ? " (has the instance a role?)" : "");
}

bool machine__instance(
    struct arena *a, const struct store_conf *conf, struct credentials **out, struct err *err)
{
    struct str at = STR(""), token = STR(""), roles = STR(""), doc = STR("");
    (void)conf;
    TRY(instance_endpoint(a, &at, err));
    TRY(instance_token(a, at, &token, err));
    struct str list =
        arena_printf(a, "%.*s/latest/meta-data/iam/security-credentials/", STR_ARG(at));
    TRY(instance_get(a, list, token, "role", &roles, err));
    struct str role = str_trim(str_cut(&roles, '\n'));
    if (str_ends(role, STR("\r")))
        role.n--;
    struct str name = str_pct_encode(a, role, "");
    struct str one = arena_printf(a, "%.*s%.*s", STR_ARG(list), STR_ARG(name));
    TRY(instance_get(a, one, token, "keys", &doc, err));
    return read_keys(doc, "the instance metadata service", out, err);
}
