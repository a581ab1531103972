#include "stage.h"

#include <assert.h>

#include "call.h"
#include "clock.h"
#include "config.h"
#include "json.h"
#include "log.h"
#include "lookup.h"
#include "metric.h"
#include "quirk.h"
#include "repeat.h"
#include "scan.h"
#include "stream.h"
#include "warehouses.h"

enum {
    IGNORED_BODY = 64 * 1024, /* that some clients send where none belongs */
    FAST_BODY = 16 * 1024,    /* larger ones are not parsed in a worker */
};

/* --- the head ----------------------------------------------------------------------------------
 */

static bool find_op(struct call *c)
{
    enum op_method method;

    /* Also for a method that no operation has the path decides which ones are allowed. */
    if (!op_method_parse(c->method, &method))
        method = OP_METHOD_COUNT;
    TRY(op_find(c->arena, method, c->path, &c->route, &c->allow, &c->err));
    if (!(c->route.op->api & c->apis))
        return err_set(&c->err, ERR_NO_ROUTE, "No route for request: %.*s %s is served elsewhere",
            STR_ARG(c->method), c->route.op->path);
    c->op = c->route.op;
    return true;
}

/* One that is not open yet is opened in the slow lane. */
static bool find_warehouse(struct call *c)
{
    struct str prefix = c->route.prefix.p ? c->route.prefix : STR("");

    if (warehouses_find(c->server->warehouses, prefix, &c->catalog, &c->err))
        return true;
    if (c->err.kind != ERR_WOULD_BLOCK)
        return false;
    err_clear(&c->err);
    return true;
}

static bool check_args(struct call *c)
{
    for (unsigned i = 0; i < c->route.n_args; i++) {
        const struct op_arg *arg = &c->route.args[i];
        struct str name = str_from(arg->name);

        if (str_eq(name, STR("namespace")))
            TRY(ident_ns_check(arg->value, &c->err));
        else
            TRY(ident_name_check(arg->value, arg->name, &c->err));
    }
    return true;
}

/* The value of a query parameter: form decoding, `+` is a space. Who says it twice, and not the
 * same, must not be understood by whichever comes first: one of them may be a purge. */
static bool query_value(struct call *c, const char *name, struct str *out)
{
    struct str rest = c->query, decoded;

    while (rest.p) {
        struct str value = str_cut(&rest, '&'), before = *out;
        struct str key = str_cut(&value, '=');
        if (!str_pct_decode(c->arena, key, STR_PLUS_SPACE, &decoded) ||
            !str_eq(decoded, str_from(name)))
            continue;
        if (!value.p)
            value = STR("");
        if (!str_pct_decode(c->arena, value, STR_PLUS_SPACE, out))
            return err_set(
                &c->err, ERR_BAD_REQUEST, "%s: bad percent-encoding or UTF-8 in the query", name);
        if (before.p && !str_eq(before, *out))
            return err_set(&c->err, ERR_BAD_REQUEST,
                "%s: expected one value in the query, found several", name);
    }
    return true;
}

static struct str header_value(const struct call *c, struct str name)
{
    static const struct str wire[] = {
#define X(name, wire, repeat) STR_INIT(wire),
        CALL_HEADERS(X)
#undef X
    };

    for (unsigned i = 0; i < HEADER_COUNT; i++)
        if (str_eq_nocase(wire[i], name))
            return c->headers[i];
    return (struct str){NULL, 0};
}

static bool take_params(struct call *c)
{
    for (unsigned i = 0; i < c->op->n_params; i++) {
        const struct param *p = &c->op->params[i];

        if (p->in == IN_QUERY)
            TRY(query_value(c, p->name, &c->params[i]));
        else if (p->in == IN_HEADER)
            c->params[i] = header_value(c, str_from(p->name));
    }
    return op_check_params(c->arena, c->op, c->params, &c->err);
}

static size_t body_limit(const struct call *c)
{
    if (c->op->method != OP_POST)
        return IGNORED_BODY;
    return c->op->body_limit ? c->op->body_limit : (size_t)c->server->conf->body_limit;
}

bool stage_head(struct call *c)
{
    TRY(find_op(c));
    c->body_limit = body_limit(c);
    TRY(find_warehouse(c));
    if (!c->op->served)
        return err_set(&c->err, ERR_UNSUPPORTED, "This server does not support %s", c->op->name);
    quirk_read_args(c);
    TRY(check_args(c));
    return take_params(c);
}

/* --- the handler -------------------------------------------------------------------------------
 */

/* JSON is UTF-8. Java's HTTP library writes ISO 8859-1 unless it is told otherwise, and some that
 * use it say so here. */
static bool is_latin1(struct str content_type)
{
    (void)str_cut(&content_type, ';');
    while (content_type.p) {
        struct str value = str_cut(&content_type, ';');
        struct str name = str_trim(str_cut(&value, '='));
        if (!value.p || !str_eq_nocase(name, STR("charset")))
            continue;
        value = str_trim(value);
        if (value.n >= 2 && value.p[0] == '"' && value.p[value.n - 1] == '"')
            value = str_sub(value, 1, value.n - 2);
        return str_eq_nocase(value, STR("iso-8859-1"));
    }
    return false;
}

static bool parse_body(struct call *c)
{
    json_error_t why;

    if (!c->op->body || c->json)
        return true;
    if (!c->body.n) {
        if (c->op->body_required)
            return err_set(&c->err, ERR_BAD_REQUEST,
                "Request body is missing: %s expects a JSON object", c->op->name);
        return true;
    }
    if (is_latin1(c->headers[HEADER_CONTENT_TYPE]))
        c->body = str_from_latin1(c->arena, c->body);
    TRY(scan_validate(c->body, &scan_body_limits, &c->err));
    metric_add(METRIC_json_parses_total, 1);
    json_t *json = json_loadb(c->body.p, c->body.n, JSON_REJECT_DUPLICATES | JSON_DECODE_ANY, &why);
    if (!json)
        return err_set(&c->err, ERR_BAD_REQUEST,
            "Malformed JSON in the request body at byte %d: %s", why.position, why.text);
    c->json = json_hold(c->arena, json);
    quirk_read_body(c);
    return op_check_body(c->op->body, c->json, &c->err);
}

static bool run_handler(struct call *c)
{
    TRY(parse_body(c));
    if (!(repeat_keyed(c) ? repeat_run(c) : op_handlers[c->op->id](c))) {
        assert(c->err.kind);
        return false;
    }
    assert(c->reply.status);
    return true;
}

bool stage_fast(struct call *c)
{
    if (c->op->body && c->body.n > FAST_BODY)
        return false;
    c->ran_in = LANE_FAST;
    c->started_us = clock_mono_us();
    if (run_handler(c))
        return true;
    if (c->err.kind == ERR_WOULD_BLOCK) {
        metric_add(METRIC_lane_bounced_total, 1);
        err_clear(&c->err);
        memset(&c->reply, 0, sizeof(c->reply));
        return false;
    }
    stage_fail(c);
    return true;
}

static bool has_plus(const struct call *c)
{
    for (unsigned i = 0; i < c->route.n_args; i++)
        if (!str_eq(c->route.args[i].value, c->route.args[i].plus))
            return true;
    return false;
}

bool stage_may_read(const struct call *c)
{
    return c->body.n <= FAST_BODY && !has_plus(c);
}

bool stage_read(struct call *c)
{
    if (parse_body(c))
        return true;
    c->ran_in = LANE_FAST;
    c->started_us = clock_mono_us();
    stage_fail(c);
    return false;
}

/* A plus in a path has two readings, of which only the database knows the right one. The room for
 * something new is looked for by the handler, if it is not known yet. */
static bool needs_lookup(const struct call *c)
{
    bool other = c->op->lookup == LOOKUP_NONE || c->op->lookup == LOOKUP_ROOM;

    return !c->looked_up && (!other || has_plus(c));
}

static struct str all_of(const struct call *c)
{
    return arena_printf(c->arena, "%s%s", ERR_ALL(&c->err));
}

/* The handler has not begun, so nothing was changed: a 500 would leave that open. With a key an
 * earlier copy of the request may have done it. */
static bool not_begun(struct call *c)
{
    if (c->err.kind != ERR_INTERNAL || !repeat_refusable(c))
        return false;
    c->detail = all_of(c);
    return err_set(&c->err, ERR_BAD_REQUEST,
        "The warehouse cannot be used, and nothing was changed; the server's log has the reason "
        "under request %.*s",
        STR_ARG(c->id));
}

static bool run_slow(struct call *c)
{
    if (!c->catalog && !find_warehouse(c))
        return not_begun(c);
    if (needs_lookup(c) && !lookup_now(c))
        return not_begun(c);
    return run_handler(c);
}

void stage_slow(struct call *c)
{
    c->ran_in = LANE_SLOW;
    c->started_us = clock_mono_us();
    metric_observe(METRIC_lane_wait_seconds, c->started_us - c->submitted_us);
    if (!run_slow(c))
        stage_fail(c);
}

/* --- failures ----------------------------------------------------------------------------------
 */

/* What was certainly not done is 429 for changes and 503 for reads: to Java a 503 that outlives its
 * retries leaves a commit in an unknown state, a 429 does not. With a key an earlier copy of the
 * request may have done it: 503, which is no refusal. */
static enum err_kind settled(const struct call *c)
{
    switch ((int)c->err.kind) {
    case ERR_UNAVAILABLE:
    case ERR_BUSY:
    case ERR_DB_RETRY:
        return repeat_refusable(c) ? ERR_BUSY : ERR_UNAVAILABLE;
    case ERR_OUTCOME_UNKNOWN:
        return c->op && c->op->mutates ? ERR_COMMIT_UNKNOWN : ERR_UNAVAILABLE;
    default:
        return err_status(c->err.kind) ? c->err.kind : ERR_INTERNAL;
    }
}

/* Words of the layers below speak of hosts and sockets: they are for the log. */
static bool is_technical(const struct err *e)
{
    return e->file && (strstr(e->file, "sql/") || strstr(e->file, "storage/"));
}

static void speak_to_client(struct call *c)
{
    const char *text = "The database or the store cannot be reached at the moment, try again";

    if (!is_technical(&c->err))
        return;
    if (c->err.kind == ERR_COMMIT_UNKNOWN)
        text = "the database did not answer in time";
    else if (c->err.kind != ERR_UNAVAILABLE && c->err.kind != ERR_BUSY)
        return;
    c->detail = all_of(c);
    err_set_at(&c->err, c->err.kind, c->err.file, c->err.line, "%s", text);
}

static void settle(struct call *c)
{
    enum err_kind kind = settled(c);

    if (kind == ERR_INTERNAL && c->err.kind != ERR_INTERNAL)
        err_wrap(&c->err, "unexpected %s", err_name(c->err.kind));
    if (kind != c->err.kind)
        err_as(&c->err, kind);
}

void stage_fail(struct call *c)
{
    settle(c);
    speak_to_client(c);
    reply_error(c);
}

/* The client sees how the answer ends; the status is for those who look after the server. */
static void broken(struct call *c)
{
    settle(c);
    c->reply.status = err_status(c->err.kind);
}

void stage_more(struct call *c)
{
    if (!stream_next(c))
        broken(c);
}

void stage_break(struct call *c, const char *why)
{
    err_set(&c->err, ERR_UNAVAILABLE, "%s", why);
    broken(c);
}

void stage_refuse(struct call *c, const char *why)
{
    err_set(&c->err, ERR_UNAVAILABLE, "%s", why);
    stage_fail(c);
}

/* --- the account -------------------------------------------------------------------------------
 */

static int64_t span(int64_t from, int64_t to)
{
    return from && to > from ? to - from : 0;
}

static enum log_level level_of(const struct call *c)
{
    return c->err.kind == ERR_NONE ? LOG_INFO : err_level(c->err.kind);
}

static void log_error(struct log_line *l, const struct call *c)
{
    struct str file = str_from(c->err.file);

    if (!c->err.kind)
        return;
    log_str(l, "kind", str_from(err_name(c->err.kind)));
    log_str(l, "message", c->detail.p ? c->detail : all_of(c));
    if (file.p) {
        log_str(l, "file", file);
        log_i64(l, "line", c->err.line);
    }
}

static int64_t took(const struct call *c)
{
    return span(c->begun_us, c->answered_us);
}

void stage_count(struct call *c)
{
    if (c->counted || !c->reply.status)
        return;
    c->counted = true;
    metric_op(c->op ? c->op->id : OP_COUNT, c->reply.status, took(c));
}

void stage_account(struct call *c)
{
    struct log_line l;

    stage_count(c);
    metric_max(METRIC_arena_peak_bytes, (int64_t)arena_used(c->arena));
    if (!log_begin(&l, level_of(c), "request"))
        return;
    log_str(&l, "id", c->id);
    log_str(&l, "operation", c->op ? str_from(c->op->name) : STR("none"));
    if (c->reply.status)
        log_i64(&l, "status", c->reply.status);
    else
        log_str(&l, "status", STR("gone")); /* the client, before it was answered */
    if (!c->op && c->method.p) {
        log_str(&l, "method", c->method);
        log_str(&l, "path", c->path);
    }
    if (c->principal.p)
        log_str(&l, "principal", c->principal);
    if (c->route.prefix.p)
        log_str(&l, "warehouse", c->route.prefix);
    log_i64(&l, "us", took(c));
    log_i64(&l, "us_waited", span(c->submitted_us, c->started_us));
    log_i64(&l, "bytes_in", (int64_t)c->body.n);
    log_i64(&l, "bytes", (int64_t)c->reply.bytes);
    log_str(&l, "lane", c->ran_in == LANE_FAST ? STR("fast") : STR("slow"));
    if (c->replayed)
        log_str(&l, "replayed", STR("true"));
    if (c->reply.stream && c->err.kind)
        log_str(&l, "broken_off", STR("true"));
    log_error(&l, c);
    log_end(&l);
}
