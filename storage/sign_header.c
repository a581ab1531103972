/* The headers of a request to be signed, and the hash of its payload. */
#include "arena.h"
#include "base.h"
#include "digest.h"
#include "sign_priv.h"

/* Stores take no x-amz- header that the signature does not cover, so that all of them are decided
 * on here; what others say is the client's own affair. Clients change some between tries, and Java
 * uses the signature of a read for all reads of that URI: those are covered in writes only. */
static const struct rule {
    const char *name; /* ending in '-': all that begin so */
    enum verdict { SENT, SIGNED, SIGNED_IN_WRITES, LEFT_OUT, HASH, HOST, REFUSED } verdict;
    const char *only; /* value; NULL: any */
} rules[] = {
    {"host",                         HOST,             NULL    },
    {"authorization",                REFUSED,          NULL    },
    {"x-amz-date",                   LEFT_OUT,         NULL    },
    {"x-amz-content-sha256",         HASH,             NULL    },
    {"x-amz-checksum-",              SIGNED,           NULL    },
    {"x-amz-sdk-checksum-algorithm", SIGNED,           NULL    },
    {"x-amz-trailer",                SIGNED,           NULL    },
    {"x-amz-decoded-content-length", SIGNED,           NULL    },
    {"x-amz-mp-object-size",         SIGNED,           NULL    },
    {"x-amz-user-agent",             SIGNED,           NULL    },
    {"x-amz-te",                     SIGNED,           NULL    }, /* Java asks for an MD5 behind the body */
    {"x-amz-meta-",                  SIGNED,           NULL    },
    {"x-amz-storage-class",          SIGNED,           NULL    },
    {"x-amz-server-side-encryption", SIGNED,           "AES256"},
    {"x-amz-",                       REFUSED,          NULL    },
    {"content-type",                 SIGNED_IN_WRITES, NULL    },
    {"content-md5",                  SIGNED_IN_WRITES, NULL    },
    {"if-match",                     SIGNED_IN_WRITES, NULL    },
    {"if-none-match",                SIGNED_IN_WRITES, NULL    },
};

#define UNSIGNED "UNSIGNED-PAYLOAD"
/* With checksums behind the body, which then comes in pieces: no piece is signed. */
#define UNSIGNED_PIECES "STREAMING-UNSIGNED-PAYLOAD-TRAILER"

static bool bad(struct err *err, const char *why)
{
    return err_set(err, ERR_STORE_BAD_URI, "The headers to be signed are not understood: %s", why);
}

static bool refuse(struct str name, struct err *err)
{
    return err_set(err, ERR_STORE_DENIED, "The request to be signed is refused: the header %.*s",
        STR_ARG(str_sub(name, 0, 64)));
}

static bool begins(struct str name, struct str with)
{
    return name.n >= with.n && str_eq_nocase(str_sub(name, 0, with.n), with);
}

static const struct rule *rule_of(struct str name)
{
    static const struct rule others = {"", SENT, NULL};
    for (size_t i = 0; i < ARRAY_LEN(rules); i++) {
        struct str word = str_from(rules[i].name);
        if (str_ends(word, STR("-")) ? begins(name, word) : str_eq_nocase(name, word))
            return &rules[i];
    }
    return &others;
}

static bool is_token(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (s.p[i] <= 0x20 || s.p[i] >= 0x7f || strchr("\"(),/:;<=>?@[\\]{}", s.p[i]))
            return false;
    return s.n > 0;
}

static bool is_line(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (((unsigned char)s.p[i] < 0x20 && s.p[i] != '\t') || s.p[i] == 0x7f)
            return false;
    return true;
}

static bool check_text(const struct sign_request *rq, struct err *err)
{
    size_t bytes = 0;
    if (rq->n_headers > SIGN_HEADERS_MAX)
        return bad(err, "more than 64");
    for (size_t i = 0; i < rq->n_headers; i++) {
        const struct fetch_header *h = &rq->headers[i];
        bytes += h->name.n + h->value.n;
        if (!is_token(h->name) || !is_line(h->value))
            return bad(err, "a name that is none, or a control character in a value");
    }
    return bytes <= SIGN_HEADERS_BYTES || bad(err, "more than 16 KB");
}

static bool is_hash(struct str s)
{
    for (size_t i = 0; i < s.n; i++)
        if (!((s.p[i] >= '0' && s.p[i] <= '9') || (s.p[i] >= 'a' && s.p[i] <= 'f')))
            return false;
    return s.n == DIGEST_SHA256_HEX;
}

/* Of several the first is gone: a client that sends two means to be read in two ways. */
static bool take_hash(struct sign_plan *plan, const struct fetch_header *h, struct err *err)
{
    bool known = str_eq(h->value, STR(UNSIGNED)) || str_eq(h->value, STR(UNSIGNED_PIECES)) ||
                 is_hash(h->value);
    if (!known || plan->payload_hash.p)
        return refuse(h->name, err);
    plan->payload_hash = h->value;
    return true;
}

static void add(struct fetch_header *list, size_t *n, const struct fetch_header *h)
{
    list[(*n)++] = *h;
}

static bool is_signed(const struct sign_plan *plan, enum verdict verdict)
{
    return verdict == SIGNED || (verdict == SIGNED_IN_WRITES && plan->kind != SIGN_READS);
}

static bool take(struct sign_plan *plan, const struct fetch_header *h, struct err *err)
{
    const struct rule *r = rule_of(h->name);
    bool wrong = r->only && !str_eq(h->value, str_from(r->only));
    if (r->verdict == HASH)
        return take_hash(plan, h, err);
    if (r->verdict == HOST)
        wrong = !str_eq_nocase(h->value, plan->at.host);
    if (wrong || r->verdict == REFUSED)
        return refuse(h->name, err);
    if (is_signed(plan, r->verdict))
        add(plan->signs, &plan->n_signs, h);
    if (r->verdict != LEFT_OUT)
        add(plan->sends, &plan->n_sends, h);
    return true;
}

/* A header that says that the body comes in pieces. */
static bool is_of_pieces(const struct fetch_header *h)
{
    if (str_eq_nocase(h->name, STR("x-amz-trailer")) ||
        str_eq_nocase(h->name, STR("x-amz-decoded-content-length")))
        return true;
    if (!str_eq_nocase(h->name, STR("content-encoding")))
        return false;
    for (struct str rest = h->value; rest.p;)
        if (str_eq_nocase(str_trim(str_cut(&rest, ',')), STR("aws-chunked")))
            return true;
    return false;
}

static const struct fetch_header *find(
    const struct sign_plan *plan, bool (*is)(const struct fetch_header *h))
{
    for (size_t i = 0; i < plan->n_sends; i++)
        if (is(&plan->sends[i]))
            return &plan->sends[i];
    return NULL;
}

static bool is_checksum_trailer(const struct fetch_header *h)
{
    return str_eq_nocase(h->name, STR("x-amz-trailer")) &&
           begins(h->value, STR("x-amz-checksum-")) && is_token(h->value);
}

/* In pieces an object is written by clients of AWS, over TLS: unsigned ones, with one checksum
 * behind them. Pieces with signatures of their own, or whose hash is that of something else, are
 * nobody's. */
static bool check_pieces(
    const struct sign_request *rq, const struct sign_plan *plan, struct str given, struct err *err)
{
    const struct fetch_header *sign = find(plan, is_of_pieces);
    bool by_hash = str_eq(given, STR(UNSIGNED_PIECES));
    bool fits =
        (!given.p || by_hash) && str_eq(rq->method, STR("PUT")) && find(plan, is_checksum_trailer);
    return (!sign && !by_hash) || fits ||
           refuse(sign ? sign->name : STR("x-amz-content-sha256"), err);
}

/* A list of objects to delete is signed with its hash, so that no other can be sent. */
static bool settle_hash(
    struct arena *a, const struct sign_request *rq, struct sign_plan *plan, struct err *err)
{
    struct str given = plan->payload_hash;
    TRY(check_pieces(rq, plan, given, err));
    if (plan->kind == SIGN_DELETES_MANY) {
        plan->payload_hash = digest_sha256_text(a, &rq->body, 1);
        return !given.p || str_eq(given, plan->payload_hash) ||
               refuse(STR("x-amz-content-sha256"), err);
    }
    if (!given.p)
        plan->payload_hash = find(plan, is_of_pieces) ? STR(UNSIGNED_PIECES) : STR(UNSIGNED);
    return true;
}

bool sign__headers(
    struct arena *a, const struct sign_request *rq, struct sign_plan *plan, struct err *err)
{
    TRY(check_text(rq, err));
    plan->signs = ARENA_ARRAY(a, struct fetch_header, rq->n_headers + 1);
    plan->sends = ARENA_ARRAY(a, struct fetch_header, rq->n_headers + 1);
    plan->payload_hash = (struct str){NULL, 0};
    for (size_t i = 0; i < rq->n_headers; i++)
        TRY(take(plan, &rq->headers[i], err));
    return settle_hash(a, rq, plan, err);
}
