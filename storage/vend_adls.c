/* Azure: a shared access signature for a table's directory, by a user's key that the account gives
 * out, or, where the operator wants it so, by the account's own. */
#include "adls_priv.h"
#include "answer.h"
#include "arena.h"
#include "azure_sign.h"
#include "base.h"
#include "clock.h"
#include "log.h"
#include "metric.h"
#include "vend_priv.h"
#include "xml.h"

#include <assert.h>

enum {
    ASK_US = 10000000,
    ANSWER_MAX = 64 * 1024,
    EARLY_MS = 60000, /* clocks of clients that go after ours */
    ONELAKE_S = 3600, /* its signatures are good for no longer, from their start on */
};

static struct adls *adls_of(const struct vend *v)
{
    return v->store->adls;
}

static bool way(const struct store_conf *conf, enum vend_way *out, struct err *err)
{
    struct endpoint ignored;
    *out = conf->azure_vend == STORE_AZURE_NOTHING ? VEND_NONE : VEND_BY_FOLDER;
    if (*out != VEND_NONE && conf->client_endpoint)
        TRY(endpoint_parse(
            str_from(conf->client_endpoint), "the Azure endpoint for clients", &ignored, err));
    if (conf->azure_vend == STORE_AZURE_CONTAINER)
        log_write(LOG_WARN, "vend",
            "whoever may load one table of %s gets access to all of its container, as the "
            "configuration wants it",
            conf->base);
    return true;
}

/* OneLake decodes a name before it looks whether it is within. */
static bool check(struct arena *a, const struct vend *v, const struct place *p,
    enum vend_access access, struct err *err)
{
    (void)a;
    (void)v;
    (void)access;
    if (*p->rel && !strchr(p->rel, '%'))
        return true;
    return err_set(err, ERR_STORE_BAD_URI, "No credentials can be limited to %.*s: %s",
        STR_ARG(p->uri), *p->rel ? "its name holds a '%'" : "it is the whole container");
}

/* --- the user's key ----------------------------------------------------------------------------
 */

static bool read_key(struct arena *a, struct str doc, struct azure_user_key *out, struct err *err)
{
    *out = (struct azure_user_key){
        .oid = xml_find(a, doc, "SignedOid"),
        .tid = xml_find(a, doc, "SignedTid"),
        .start = xml_find(a, doc, "SignedStart"),
        .expiry = xml_find(a, doc, "SignedExpiry"),
        .service = xml_find(a, doc, "SignedService"),
        .version = xml_find(a, doc, "SignedVersion"),
        .value = xml_find(a, doc, "Value"),
    };
    if (out->oid.n > 0 && out->tid.n > 0 && out->start.n > 0 && out->expiry.n > 0 &&
        out->service.n > 0 && out->version.n > 0 && out->value.n > 0)
        return true;
    return err_set(err, ERR_INTERNAL, "the account's answer is no user delegation key");
}

/* `a` is wiped. */
static bool ask_key(struct arena *a, struct adls *s, const struct azure_sas *sas,
    struct azure_user_key *out, struct err *err)
{
    AUTO(answer_fini) struct fetch_response rs = {0};
    struct str body = arena_printf(a,
        "<?xml version=\"1.0\" encoding=\"utf-8\"?><KeyInfo><Start>%.*s</Start>"
        "<Expiry>%.*s</Expiry></KeyInfo>",
        STR_ARG(azure_time(a, sas->start_ms)), STR_ARG(azure_time(a, sas->expires_ms)));
    struct adls_call call = {
        .method = "POST",
        .query = STR("comp=userdelegationkey&restype=service"),
        .pieces = &body,
        .n_pieces = 1,
        .max_body = ANSWER_MAX,
        .deadline_us = clock_mono_us() + ASK_US,
    };
    adls__header(&call, "content-type", STR("application/xml"));
    metric_add(METRIC_vend_requests_total, 1);
    bool sent = adls__send(s, a, &call, &rs, err);
    bool ok = sent && (rs.status == 200 || adls__fail(s, &call, &rs, err)) &&
              read_key(a, buf_view(&rs.body), out, err);
    if (ok)
        return true;
    metric_add(METRIC_vend_failures_total, 1);
    err_wrap(err, "asking the account for a key of its user");
    if (err->kind == ERR_UNAVAILABLE)
        return false;
    return err_as(err, err->kind == ERR_STORE_DENIED ? ERR_KEYS_REFUSED : ERR_INTERNAL);
}

/* --- the signature -----------------------------------------------------------------------------
 */

static struct azure_sas sas_for(
    const struct vend *v, const struct place *p, enum vend_access access, int64_t now_ms)
{
    int64_t life_s = v->conf.vend_duration_s ? v->conf.vend_duration_s : VEND_DURATION_S;
    struct adls_place at = adls__place(p->at.authority);
    if (str_ends(at.host, STR(".fabric.microsoft.com")) && life_s > ONELAKE_S - EARLY_MS / 1000)
        life_s = ONELAKE_S - EARLY_MS / 1000;
    bool container = v->conf.azure_vend == STORE_AZURE_CONTAINER;
    return (struct azure_sas){
        .account = at.account,
        .container = at.container,
        .path = container ? STR("") : str_from(p->rel),
        .permissions = access == VEND_WRITE ? STR("racwdl") : STR("rl"),
        .start_ms = now_ms - EARLY_MS,
        .expires_ms = now_ms + life_s * 1000,
        .protocols = adls_of(v)->scheme == ENDPOINT_HTTPS ? STR("https") : STR("https,http"),
    };
}

static bool sign(
    struct arena *a, const struct vend *v, struct azure_sas *sas, struct str *out, struct err *err)
{
    AUTO(credentials_unref) struct credentials *own = NULL;
    struct azure_user_key user;
    TRY(keeper_get(adls_of(v)->keeper, clock_mono_us() + ASK_US, &own, err));
    if (str_eq(str_from(own->id), STR(ADLS_SHARED_KEY))) {
        if (v->conf.azure_signer != STORE_AZURE_ANY_KEY)
            return err_set(err, ERR_INTERNAL,
                "the warehouse has the account's key only, and is not told to let clients in with "
                "it (vend-by-account-key)");
        return azure_sas_sign(a, sas, str_from(own->secret), out, err);
    }
    TRY(ask_key(a, adls_of(v), sas, &user, err));
    sas->user = &user;
    bool ok = azure_sas_sign(a, sas, user.value, out, err);
    sas->user = NULL;
    return ok;
}

static bool ask(struct arena *arena, const struct vend *v, const struct place *p,
    enum vend_access access, struct credentials **out, struct err *err)
{
    AUTO(arena_free) struct arena *a = arena_new_secret();
    int64_t now_ms = clock_ms();
    struct azure_sas sas =
        sas_for(v, p, access, now_ms + atomic_load(&adls_of(v)->clock_offset_ms));
    struct str text = STR("");
    (void)arena;
    TRY(check(a, v, p, access, err));
    TRY(sign(a, v, &sas, &text, err));
    int64_t life_ms = sas.expires_ms - sas.start_ms - EARLY_MS;
    *out = credentials_new(STR(ADLS_SAS), text, (struct str){NULL, 0}, now_ms + life_ms);
    return true;
}

/* --- for clients -------------------------------------------------------------------------------
 */

static struct str endpoint_for(struct arena *a, const struct vend *v)
{
    const struct adls *s = adls_of(v);
    struct str named = str_from(v->conf.client_endpoint);
    while (str_ends(named, STR("/")))
        named.n--;
    if (named.n > 0 || !s->endpoint)
        return named;
    return arena_printf(a, "%s://%s", endpoint_word(s->scheme), s->endpoint);
}

static bool tell(struct arena *a, const struct vend *v, const struct place *p, struct vended *out,
    struct err *err)
{
    struct str host = p->uri;
    (void)err;
    (void)str_cut(&host, '@'); /* there is one, in front of any other */
    out->kind = VENDED_ADLS;
    out->host = arena_dup(a, str_sub(host, 0, str_find(host, '/')));
    out->endpoint = endpoint_for(a, v);
    return true;
}

static void lend(
    struct arena *a, const struct vend *v, const struct credentials *keys, struct store_conf *conf)
{
    (void)a;
    (void)v;
    conf->azure_sas = keys->secret;
    conf->azure_vend = STORE_AZURE_NOTHING;
}

static bool reaches_more(const struct vend *v)
{
    return v->conf.azure_vend == STORE_AZURE_CONTAINER;
}

const struct vend_kind vend__adls = {
    .name = "Azure",
    .way = way,
    .check = check,
    .ask = ask,
    .tell = tell,
    .lend = lend,
    .reaches_more = reaches_more,
    .lists = VEND_LISTS_NOTHING,
    .hint = "an account without hierarchical namespace takes none for a directory, only for the "
            "whole container (vend-scope)",
};
