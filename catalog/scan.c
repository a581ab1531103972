#include "scan.h"

#include <assert.h>
#include <endian.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "arena.h"
#include "base.h"
#include "scan_priv.h"

const struct scan_limits scan_body_limits = {
    .bytes = 1u << 30, .tokens = 500000, .string = 1u << 20, .depth = 64};
/* Deeper than a body may be: what came in a body lies some levels lower in the document. */
const struct scan_limits scan_metadata_limits = {
    .bytes = UINT32_MAX, .tokens = SIZE_MAX, .string = 1u << 20, .depth = 72};

enum {
    KEYS_FEW = 32,       /* up to here a key is compared with the others when it is read */
    KEYS_MAX = 1u << 20, /* in all objects that are open: bounds the memory of hostile texts */
    KEYS_ROOM = 64,
};

/* A key's decoded text. The tag spares most comparisons. */
struct key {
    const char *p;
    uint32_t n;
    uint32_t tag;
};

/* The decoded text of a key that was spelled with escapes. */
struct spelled {
    struct spelled *older;
    char text[];
};

/* An open container. */
struct frame {
    uint64_t seen; /* one bit for some bits of each key's tag */
    uint32_t first_key;
    bool object;
    struct spelled *spelled; /* what was there before this object */
};

struct scan_keys {
    struct key *v;
    size_t n, cap;
    struct spelled *spelled;
    struct frame frames[]; /* limits->depth of them */
};

/* -- Errors ----------------------------------------------------------------------------------- */

static bool fail_at(struct scan *s, const char *p, const char *fmt, ...)
    __attribute__((format(printf, 3, 4), cold, noinline));

static bool fail_at(struct scan *s, const char *p, const char *fmt, ...)
{
    if (s->failed)
        return false;
    char what[256], where[SCAN_WHERE];
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(what, sizeof(what), fmt, ap);
    va_end(ap);
    err_set(s->err, ERR_BAD_REQUEST, "Invalid JSON at byte %zu: %s", (size_t)(p - s->begin), what);
    scan__where(str_range(s->begin, s->end), p, where);
    if (where[0])
        err_where(s->err, "%s", where);
    /* Nothing is left to read: every later call fails, and leaves the first message alone. */
    s->failed = true;
    s->p = s->end;
    return false;
}

__attribute__((cold, noinline)) static bool fail_found(
    struct scan *s, const char *p, const char *expected)
{
    if (p >= s->end)
        return fail_at(s, p, "expected %s, found the end of the text", expected);
    unsigned char c = (unsigned char)*p;
    if (c > 0x20 && c < 0x7f)
        return fail_at(s, p, "expected %s, found '%c'", expected, c);
    return fail_at(s, p, "expected %s, found the byte 0x%02x", expected, c);
}

/* -- Characters ------------------------------------------------------------------------------- */

static const char *skip_space(const char *p, const char *end)
{
    while (p < end && (*p == ' ' || *p == '\n' || *p == '\r' || *p == '\t'))
        p++;
    return p;
}

static inline bool is_digit(const char *p, const char *end)
{
    return p < end && (unsigned char)(*p - '0') < 10;
}

#define EACH_BYTE(b) (0x0101010101010101u * (b))

/* The first byte at or after p that a string cannot take as it is: quote, backslash, control, or
 * the beginning of a longer character. Eight bytes at a time: a borrow can only mark bytes behind
 * the first true hit, and the first is all that is looked at. */
static inline const char *plain_run(const char *p, const char *end)
{
    while (end - p >= 8) {
        uint64_t x = 0;
        memcpy(&x, p, 8);
        x = le64toh(x);
        uint64_t quote = x ^ EACH_BYTE(0x22u), slash = x ^ EACH_BYTE(0x5cu);
        uint64_t hit = ((quote - EACH_BYTE(1u)) & ~quote) | ((slash - EACH_BYTE(1u)) & ~slash) |
                       (x - EACH_BYTE(0x20u)) | x;
        hit &= EACH_BYTE(0x80u);
        if (hit)
            return p + (__builtin_ctzll(hit) >> 3);
        p += 8;
    }
    for (; p < end; p++) {
        unsigned char c = (unsigned char)*p;
        if (c == '"' || c == '\\' || c < 0x20 || c >= 0x80)
            break;
    }
    return p;
}

/* Behind the escape at p, or NULL. */
static const char *skip_escape(struct scan *s, const char *p)
{
    if (s->end - p < 2)
        return fail_found(s, s->end, "an escape"), NULL;
    if (p[1] != 'u') {
        if (p[1] && strchr("\"\\/bfnrt", p[1]))
            return p + 2;
        return fail_found(s, p + 1, "one of \"\\/bfnrtu behind a backslash"), NULL;
    }
    int32_t unit = scan__unit(p, s->end);
    if (unit < 0)
        return fail_at(s, p, "expected four hexadecimal digits behind \\u"), NULL;
    if (unit == 0)
        return fail_at(s, p, "the character \\u0000 is not allowed"), NULL;
    if (scan__is_low(unit) || (scan__is_high(unit) && !scan__is_low(scan__unit(p + 6, s->end))))
        return fail_at(s, p, "half of a surrogate pair"), NULL;
    return p + (scan__is_high(unit) ? 12 : 6);
}

/* The closing quote of the string whose first byte is p, or NULL. */
static const char *string_end(struct scan *s, const char *p, bool *escaped)
{
    const char *begin = p;
    for (;;) {
        p = plain_run(p, s->end);
        if (p >= s->end)
            return fail_found(s, s->end, "the closing quote of a string"), NULL;
        unsigned char c = (unsigned char)*p;
        if (c == '"')
            break;
        if (c == '\\') {
            *escaped = true;
            p = skip_escape(s, p);
            if (!p)
                return NULL;
        } else if (c >= 0x80) {
            size_t n = str_utf8_char(str_range(p, s->end));
            if (!n)
                return fail_at(s, p, "a string that is not valid UTF-8"), NULL;
            p += n;
        } else {
            return fail_at(s, p, "the control character 0x%02x in a string", c), NULL;
        }
    }
    if ((size_t)(p - begin) > s->limits->string)
        return fail_at(s, begin, "a string of %zu bytes, the limit is %zu", (size_t)(p - begin),
                   s->limits->string),
               NULL;
    return p;
}

/* -- Keys ------------------------------------------------------------------------------------- */

static inline uint64_t load_upto8(const char *p, size_t n)
{
    uint64_t a = 0;
    uint32_t low = 0, high = 0;
    if (n >= 8) {
        memcpy(&a, p, 8);
        return a;
    }
    if (n >= 4) {
        memcpy(&low, p, 4);
        memcpy(&high, p + n - 4, 4);
        return (uint64_t)high << 32 | low;
    }
    for (size_t i = 0; i < n; i++)
        a = a << 8 | (unsigned char)p[i];
    return a;
}

/* Only to skip comparisons: equal texts have equal tags, nothing relies on the reverse. */
static inline uint32_t key_tag(const char *p, size_t n)
{
    uint64_t a = load_upto8(p, n), b = n > 8 ? load_upto8(p + n - 8, 8) : 0;
    uint64_t h = (a ^ (b << 31 | b >> 33) ^ n) * 0x9e3779b97f4a7c15u;
    return (uint32_t)(h >> 32);
}

static bool key_equal(const struct key *a, const struct key *b)
{
    return a->tag == b->tag && a->n == b->n && memcmp(a->p, b->p, a->n) == 0;
}

static int key_order(const void *va, const void *vb)
{
    const struct key *a = va, *b = vb;
    if (a->tag != b->tag)
        return a->tag < b->tag ? -1 : 1;
    if (a->n != b->n)
        return a->n < b->n ? -1 : 1;
    return a->n ? memcmp(a->p, b->p, a->n) : 0;
}

static struct scan_keys *keys_new(unsigned depth)
{
    struct scan_keys *k = xmalloc(sizeof(*k) + depth * sizeof(struct frame));
    *k = (struct scan_keys){.v = xmalloc(KEYS_ROOM * sizeof(struct key)), .cap = KEYS_ROOM};
    return k;
}

static void spelled_free(struct scan_keys *k, struct spelled *until)
{
    while (k->spelled != until) {
        struct spelled *gone = k->spelled;
        k->spelled = gone->older;
        xfree(gone);
    }
}

static struct str key_decode(struct scan_keys *k, struct str raw)
{
    struct spelled *new = xmalloc(sizeof(*new) + raw.n);
    new->older = k->spelled;
    k->spelled = new;
    return str_range(new->text, scan__unescape(raw, new->text));
}

__attribute__((cold, noinline)) static bool fail_duplicate(
    struct scan *s, const char *at, struct str key)
{
    struct str shown = str_utf8_cut(key, 100);
    return fail_at(s, at, "the key \"%.*s\" twice in one object", STR_ARG(shown));
}

static bool key_add(struct scan *s, struct str raw, bool escaped)
{
    struct scan_keys *k = s->keys;
    struct frame *f = &k->frames[s->depth - 1];
    struct str text = escaped ? key_decode(k, raw) : raw;
    struct key new = {text.p, (uint32_t)text.n, key_tag(text.p, text.n)};
    uint64_t bit = (uint64_t)1 << (new.tag >> 26);
    size_t n = k->n - f->first_key;

    if (n < KEYS_FEW && (f->seen & bit)) {
        for (size_t i = f->first_key; i < k->n; i++)
            if (key_equal(&k->v[i], &new))
                return fail_duplicate(s, raw.p, text);
    }
    f->seen |= bit;
    if (k->n == k->cap) {
        if (k->n >= KEYS_MAX)
            return fail_at(s, raw.p, "more than %d keys in one object", KEYS_MAX);
        k->cap *= 2;
        k->v = xrealloc(k->v, k->cap * sizeof(struct key));
    }
    k->v[k->n++] = new;
    return true;
}

/* The later of two equal keys in the text; one with escapes lies elsewhere, and the end of the
 * object has to do. */
static const char *place_of(const struct scan *s, const struct key *a, const struct key *b)
{
    const char *p = a->p > b->p ? a->p : b->p;
    return p >= s->begin && p < s->end ? p : s->p;
}

/* Larger objects are looked through once, at their end: sorting has no bad case to provoke. */
static bool keys_close(struct scan *s)
{
    struct scan_keys *k = s->keys;
    struct frame *f = &k->frames[s->depth - 1];
    struct key *v = k->v + f->first_key;
    size_t n = k->n - f->first_key;

    if (n > KEYS_FEW) {
        qsort(v, n, sizeof(*v), key_order);
        for (size_t i = 1; i < n; i++)
            if (key_equal(&v[i - 1], &v[i]))
                return fail_duplicate(
                    s, place_of(s, &v[i - 1], &v[i]), (struct str){v[i].p, v[i].n});
    }
    spelled_free(k, f->spelled);
    k->n = f->first_key;
    return true;
}

/* -- Containers ------------------------------------------------------------------------------- */

void scan_init(struct scan *s, struct str text, const struct scan_limits *limits, struct err *err)
{
    const char *p = text.n ? text.p : "";
    *s = (struct scan){.begin = p, .p = p, .end = p + text.n, .limits = limits, .err = err};
    if (text.n > limits->bytes) {
        err_set(err, ERR_TOO_LARGE, "The JSON text has %zu bytes, the limit is %zu", text.n,
            limits->bytes);
        s->failed = true;
        s->p = s->end;
    } else if (text.n >= 3 && memcmp(p, "\xef\xbb\xbf", 3) == 0) {
        fail_at(s, p, "a byte order mark");
    }
}

void scan_fini(struct scan *s)
{
    if (!s->keys)
        return;
    spelled_free(s->keys, NULL);
    xfree(s->keys->v);
    xfree(s->keys);
    s->keys = NULL;
}

bool scan_end(struct scan *s)
{
    assert(s->failed || s->depth == 0);
    s->p = skip_space(s->p, s->end);
    if (s->p < s->end)
        return fail_found(s, s->p, "the end of the text");
    return !s->failed;
}

static bool count_token(struct scan *s)
{
    if (++s->tokens > s->limits->tokens)
        return fail_at(s, s->p, "more than %zu keys and values", s->limits->tokens);
    return true;
}

static bool open_container(struct scan *s, bool object)
{
    TRY(count_token(s));
    if (s->depth >= s->limits->depth)
        return fail_at(s, s->p, "nested deeper than %u levels", s->limits->depth);
    if (!s->keys)
        s->keys = keys_new(s->limits->depth);
    s->keys->frames[s->depth++] = (struct frame){
        .first_key = (uint32_t)s->keys->n, .object = object, .spelled = s->keys->spelled};
    s->first = true;
    s->p++;
    return true;
}

static bool close_container(struct scan *s, const char *p)
{
    if (s->keys->frames[s->depth - 1].object)
        TRY(keys_close(s));
    s->p = p + 1;
    s->depth--;
    s->first = false;
    return true;
}

bool scan_object(struct scan *s)
{
    s->p = skip_space(s->p, s->end);
    if (s->p >= s->end || *s->p != '{')
        return fail_found(s, s->p, "an object");
    return open_container(s, true);
}

bool scan_array(struct scan *s)
{
    s->p = skip_space(s->p, s->end);
    if (s->p >= s->end || *s->p != '[')
        return fail_found(s, s->p, "an array");
    return open_container(s, false);
}

static inline bool read_key(struct scan *s, struct str *key)
{
    const char *p = s->p;
    if (p >= s->end || *p != '"')
        return fail_found(s, p, s->first ? "a key or '}'" : "a key");
    TRY(count_token(s));
    bool escaped = false;
    const char *end = string_end(s, p + 1, &escaped);
    if (!end)
        return false;
    struct str raw = str_range(p + 1, end);
    TRY(key_add(s, raw, escaped));
    s->first = false;
    p = skip_space(end + 1, s->end);
    if (p >= s->end || *p != ':')
        return fail_found(s, p, "':' behind a key");
    s->p = p + 1;
    *key = raw;
    return true;
}

static inline bool next_member(struct scan *s, struct str *key, bool *more)
{
    const char *p = skip_space(s->p, s->end);
    *more = p >= s->end || *p != '}';
    if (!*more)
        return close_container(s, p);
    if (!s->first) {
        if (p >= s->end || *p != ',')
            return fail_found(s, p, "',' or '}'");
        p = skip_space(p + 1, s->end);
    }
    s->p = p;
    return read_key(s, key);
}

static inline bool next_element(struct scan *s, bool *more)
{
    const char *p = skip_space(s->p, s->end);
    *more = p >= s->end || *p != ']';
    if (!*more)
        return close_container(s, p);
    if (!s->first) {
        if (p >= s->end || *p != ',')
            return fail_found(s, p, "',' or ']'");
        p++;
    }
    s->first = false;
    s->p = p;
    return true;
}

bool scan_member(struct scan *s, struct str *key, bool *more)
{
    assert(s->failed || (s->depth && s->keys->frames[s->depth - 1].object));
    return next_member(s, key, more);
}

bool scan_element(struct scan *s, bool *more)
{
    assert(s->failed || (s->depth && !s->keys->frames[s->depth - 1].object));
    return next_element(s, more);
}

/* -- Numbers ---------------------------------------------------------------------------------- */

/* Would the number, whose digits (with a point among them) are in [p, end) and whose power of ten
 * is exp, be infinite as a double? `whole` digits stand before the point. */
static bool is_infinite(const char *p, const char *end, int64_t whole, int64_t exp)
{
    static const char limit[] = "17976931348623158079"; /* the digits of 2^1024 - 2^970 */
    int64_t scale = whole;                              /* value = 0.ddd * 10^scale */
    while (p < end && (*p == '0' || *p == '.'))
        scale -= *p++ == '0';
    if (p == end || scale + exp < 309)
        return false;
    if (scale + exp > 309)
        return true;
    for (const char *l = limit; *l; l++) {
        while (p < end && *p == '.')
            p++;
        char digit = p < end ? *p++ : '0';
        if (digit != *l)
            return digit > *l;
    }
    return true;
}

/* The fraction and the exponent at p, of a number whose first digit is at `digits`. */
static bool read_real(struct scan *s, const char *digits, const char *p)
{
    int64_t whole = p - digits, exp = 0;
    if (*p == '.') {
        if (!is_digit(++p, s->end))
            return fail_found(s, p, "a digit behind the decimal point");
        while (is_digit(p, s->end))
            p++;
    }
    const char *mantissa_end = p;
    if (p < s->end && (*p == 'e' || *p == 'E')) {
        p++;
        bool negative = p < s->end && *p == '-';
        p += p < s->end && (*p == '-' || *p == '+');
        if (!is_digit(p, s->end))
            return fail_found(s, p, "a digit of the exponent");
        for (; is_digit(p, s->end); p++)
            if (exp < INT64_MAX / 100)
                exp = exp * 10 + (*p - '0');
        exp = negative ? -exp : exp;
    }
    if (is_infinite(digits, mantissa_end, whole, exp))
        return fail_at(s, digits, "a number beyond the range of a double");
    s->p = p;
    return true;
}

/* A number; *integer tells whether it has neither fraction nor exponent, *out is only set then. */
static bool read_number(struct scan *s, bool *integer, int64_t *out)
{
    const char *p = s->p, *end = s->end;
    bool negative = *p == '-';
    p += negative;
    const char *digits = p;
    uint64_t v = 0;

    if (!is_digit(p, end))
        return fail_found(s, p, "a digit");
    if (*p == '0')
        p++;
    else
        for (; is_digit(p, end); p++)
            v = v * 10 + (uint64_t)(*p - '0');

    *integer = p >= end || (*p != '.' && (*p | 0x20) != 'e');
    if (!*integer)
        return read_real(s, digits, p);
    /* 19 digits always fit the 64 bits of v, 20 never fit the 63 of the result. */
    if (p - digits > 19 || v > (uint64_t)INT64_MAX + negative)
        return fail_at(s, s->p, "an integer that does not fit 64 bits");
    *out = (int64_t)(negative ? 0 - v : v);
    s->p = p;
    return true;
}

/* -- Values ----------------------------------------------------------------------------------- */

static const unsigned char value_types[256] = {
    ['{'] = SCAN_OBJECT + 1,
    ['['] = SCAN_ARRAY + 1,
    ['"'] = SCAN_STRING + 1,
    ['-'] = SCAN_NUMBER + 1,
    ['0'] = SCAN_NUMBER + 1,
    ['1'] = SCAN_NUMBER + 1,
    ['2'] = SCAN_NUMBER + 1,
    ['3'] = SCAN_NUMBER + 1,
    ['4'] = SCAN_NUMBER + 1,
    ['5'] = SCAN_NUMBER + 1,
    ['6'] = SCAN_NUMBER + 1,
    ['7'] = SCAN_NUMBER + 1,
    ['8'] = SCAN_NUMBER + 1,
    ['9'] = SCAN_NUMBER + 1,
    ['t'] = SCAN_TRUE + 1,
    ['f'] = SCAN_FALSE + 1,
    ['n'] = SCAN_NULL + 1,
};

static inline enum scan_type type_at(const char *p, const char *end)
{
    unsigned type = p < end ? value_types[(unsigned char)*p] : 0;
    return type ? (enum scan_type)(type - 1) : SCAN_BAD;
}

enum scan_type scan_peek(struct scan *s)
{
    s->p = skip_space(s->p, s->end);
    return type_at(s->p, s->end);
}

static bool read_word(struct scan *s, struct str word)
{
    TRY(count_token(s));
    if ((size_t)(s->end - s->p) < word.n || memcmp(s->p, word.p, word.n) != 0)
        return fail_at(s, s->p, "expected %s", word.p);
    s->p += word.n;
    return true;
}

static bool read_string(struct scan *s, struct str *raw, bool *escaped)
{
    TRY(count_token(s));
    const char *end = string_end(s, s->p + 1, escaped);
    if (!end)
        return false;
    *raw = str_range(s->p + 1, end);
    s->p = end + 1;
    return true;
}

/* Reads a scalar, or opens a container. */
static inline bool begin_value(struct scan *s)
{
    struct str raw;
    bool flag = false;
    int64_t number;

    s->p = skip_space(s->p, s->end);
    switch (type_at(s->p, s->end)) {
    case SCAN_STRING:
        return read_string(s, &raw, &flag);
    case SCAN_NUMBER:
        TRY(count_token(s));
        return read_number(s, &flag, &number);
    case SCAN_OBJECT:
        return open_container(s, true);
    case SCAN_ARRAY:
        return open_container(s, false);
    case SCAN_TRUE:
        return read_word(s, STR("true"));
    case SCAN_FALSE:
        return read_word(s, STR("false"));
    case SCAN_NULL:
        return read_word(s, STR("null"));
    case SCAN_BAD:
        break;
    }
    return fail_found(s, s->p, "a value");
}

bool scan_skip(struct scan *s, struct str *slice)
{
    unsigned depth = s->depth;
    s->p = skip_space(s->p, s->end);
    const char *begin = s->p;

    TRY(begin_value(s));
    while (s->depth > depth) {
        bool more = false;
        struct str key;
        if (s->keys->frames[s->depth - 1].object)
            TRY(next_member(s, &key, &more));
        else
            TRY(next_element(s, &more));
        if (more)
            TRY(begin_value(s));
    }
    if (slice)
        *slice = str_range(begin, s->p);
    return true;
}

bool scan_i64(struct scan *s, int64_t *out)
{
    if (scan_peek(s) != SCAN_NUMBER)
        return fail_found(s, s->p, "an integer");
    TRY(count_token(s));
    const char *begin = s->p;
    bool integer = false;
    TRY(read_number(s, &integer, out));
    if (!integer)
        return fail_at(s, begin, "expected an integer, found %.*s",
            (int)(s->p - begin < 40 ? s->p - begin : 40), begin);
    return true;
}

bool scan_raw_string(struct scan *s, struct str *out)
{
    bool escaped = false;
    if (scan_peek(s) != SCAN_STRING)
        return fail_found(s, s->p, "a string");
    return read_string(s, out, &escaped);
}

bool scan_string(struct scan *s, struct arena *a, struct str *out)
{
    bool escaped = false;
    struct str raw;
    if (scan_peek(s) != SCAN_STRING)
        return fail_found(s, s->p, "a string");
    TRY(read_string(s, &raw, &escaped));
    if (!escaped) {
        *out = arena_dup(a, raw);
        return true;
    }
    char *p = arena_alloc(a, raw.n + 1);
    char *end = scan__unescape(raw, p);
    *end = '\0';
    *out = str_range(p, end);
    return true;
}

bool scan_validate(struct str text, const struct scan_limits *limits, struct err *err)
{
    AUTO(scan_fini) struct scan s;
    scan_init(&s, text, limits, err);
    return scan_skip(&s, NULL) && scan_end(&s);
}
