#include <check.h>
#include <stdlib.h>

#include "arena.h"
#include "base.h"
#include "catalog_priv.h"
#include "digest.h"

static struct arena *arena;
static struct catalog main_warehouse, other_warehouse;
static struct page_list tables;

static const struct str ns = STR_INIT("a\x1f"
                                      "b");

/* A list of names "00000" to "<count - 1>", read as the database's lists are. */
static names_fn read_names;
static size_t count, largest_read, reads;

static void begin(void)
{
    arena = arena_new();
    main_warehouse.warehouse.uuid = STR("3b0f0a67-4b5c-4d3a-9d0e-1d2f3a4b5c6d");
    other_warehouse.warehouse.uuid = STR("0c9e8a57-1111-4d3a-9d0e-1d2f3a4b5c6d");
    tables = (struct page_list){&main_warehouse, ns, "tables", read_names};
}

static void end(void)
{
    arena_free(&arena);
}

static bool after(
    const struct page_list *list, struct str token, int64_t size, struct str *last, size_t *limit)
{
    struct err err = {.kind = ERR_NONE};
    struct page page = {.token = token, .size = size};
    bool ok = page__after(arena, list, &page, last, limit, &err);
    if (!ok) {
        ck_assert_int_eq(err.kind, ERR_BAD_REQUEST);
        ck_assert_str_eq(err.msg, "Invalid pageToken: it is not one that this list has handed out");
    }
    return ok;
}

/* The Go client sends a size and does not follow tokens: a size alone asks for no page. */
START_TEST(test_page_after__without_a_token_a_piece_of_everything)
{
    struct str last;
    size_t limit;
    ck_assert(after(&tables, (struct str){NULL, 0}, 0, &last, &limit));
    ck_assert_ptr_null(last.p);
    ck_assert_uint_eq(limit, PAGE_BATCH);
    ck_assert(after(&tables, (struct str){NULL, 0}, 5, &last, &limit));
    ck_assert_uint_eq(limit, PAGE_BATCH);
}
END_TEST

START_TEST(test_page_after__an_empty_token_is_the_first_page)
{
    static const struct {
        int64_t size;
        size_t limit;
    } sizes[] = {
        {0,            PAGE_DEFAULT},
        {1,            1           },
        {PAGE_MAX - 1, PAGE_MAX - 1},
        {PAGE_MAX,     PAGE_MAX    },
        {PAGE_MAX + 1, PAGE_MAX    },
        {INT64_MAX,    PAGE_MAX    },
        {-1,           PAGE_DEFAULT},
    };
    for (size_t i = 0; i < ARRAY_LEN(sizes); i++) {
        struct str last;
        size_t limit;
        ck_assert(after(&tables, STR(""), sizes[i].size, &last, &limit));
        ck_assert_ptr_null(last.p);
        ck_assert_uint_eq(limit, sizes[i].limit);
    }
}
END_TEST

START_TEST(test_page_token__leads_back_to_the_last_name)
{
    static const char *const names[] = {"t", "a.b", "\xc3\xa4", "with blank", "%1F", "a/b"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        struct str last, name = str_from(names[i]);
        size_t limit;
        struct str token = page__token(arena, &tables, name);
        for (size_t k = 0; k < token.n; k++)
            ck_assert_ptr_nonnull(strchr("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
                                         "0123456789-_",
                token.p[k]));
        ck_assert(after(&tables, token, 7, &last, &limit));
        ck_assert(str_eq(last, name));
        ck_assert_uint_eq(limit, 7);
    }
}
END_TEST

START_TEST(test_page_token__belongs_to_one_list)
{
    struct str last;
    size_t limit;
    struct str token = page__token(arena, &tables, STR("t"));
    ck_assert(after(&tables, token, 0, &last, &limit));
    const struct page_list others[] = {
        {&main_warehouse,  ns,       "namespaces", read_names},
        {&main_warehouse,  STR("a"), "tables",     read_names},
        {&main_warehouse,  STR(""),  "tables",     read_names},
        {&other_warehouse, ns,       "tables",     read_names},
    };
    for (size_t i = 0; i < ARRAY_LEN(others); i++)
        ck_assert(!after(&others[i], token, 0, &last, &limit));
}
END_TEST

/* A token of this list with these bytes behind its head. */
static struct str forged(char version, struct str last)
{
    struct str own;
    ck_assert(b64url_decode(arena, page__token(arena, &tables, STR("x")), &own));
    char *p = arena_alloc(arena, own.n + last.n);
    memcpy(p, own.p, own.n - 1);
    p[0] = version;
    if (last.n)
        memcpy(p + own.n - 1, last.p, last.n);
    return b64url_encode(arena, (struct str){p, own.n - 1 + last.n});
}

START_TEST(test_page_after__tokens_nobody_handed_out)
{
    struct str last;
    size_t limit;
    ck_assert(after(&tables, forged(1, STR("x")), 0, &last, &limit));
    const struct str bad[] = {STR("1"), STR("100"), STR("A"), STR("AQ"), STR("t"), STR("!!!!"),
        STR("AQAAAAAAAAAA"), STR("AQAAAAAAAAAAdA"), forged(2, STR("x")), forged(1, STR("")),
        forged(1, STR("a\0b")), forged(1, STR("\xff")),
        forged(1, STR("a\x1f"
                      "b")),
        forged(1, STR(".."))};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++)
        ck_assert_msg(!after(&tables, bad[i], 0, &last, &limit), "%.*s", STR_ARG(bad[i]));
    struct str token = page__token(arena, &tables, STR("t"));
    for (size_t n = 1; n < token.n - 1; n++)
        ck_assert(!after(&tables, str_sub(token, 0, n), 0, &last, &limit));
}
END_TEST

static bool read_names(struct arena *a, const struct catalog *c, struct str parent, struct str from,
    size_t limit, struct str **names, size_t *n, bool *found, struct err *err)
{
    int64_t first = 0;
    ck_assert_ptr_eq(c, &main_warehouse);
    ck_assert_uint_ge(limit, 1);
    reads++;
    if (limit > largest_read)
        largest_read = limit;
    *found = str_eq(parent, ns);
    if (from.p) {
        if (!str_to_i64(from, &first))
            return err_set(err, ERR_UNAVAILABLE, "no such place: %.*s", STR_ARG(from));
        first++;
    }
    size_t left = *found ? count - (size_t)first : 0;
    *n = left < limit ? left : limit;
    *names = ARENA_ARRAY(a, struct str, *n + 1);
    for (size_t i = 0; i < *n; i++)
        (*names)[i] = arena_printf(a, "%05zu", (size_t)first + i);
    return true;
}

static struct names read_page(struct str token, int64_t size)
{
    struct names out;
    struct page page = {.token = token, .size = size};
    struct err err = {.kind = ERR_NONE};
    ck_assert_msg(page__read(arena, &tables, &page, &out, &err), "%s", err.msg);
    ck_assert(out.found);
    return out;
}

/* Page after page: every name once, in order; returns the number of pages. */
static size_t read_all(size_t size)
{
    struct str token = STR("");
    size_t at = 0, pages = 0;
    while (token.p) {
        struct names page = read_page(token, (int64_t)size);
        ck_assert_uint_le(page.n, size);
        for (size_t i = 0; i < page.n; i++, at++)
            ck_assert(str_eq(page.v[i], arena_printf(arena, "%05zu", at)));
        ck_assert(!page.next.p || (page.n == size && page.next.n > 0));
        token = page.next;
        pages++;
    }
    ck_assert_uint_eq(at, count);
    return pages;
}

START_TEST(test_page_read__every_name_once)
{
    static const size_t counts[] = {0, 1, 9, 10, 11, 20, 21, 1999, 2000, 2001, 4000, 4001};
    static const size_t sizes[] = {1999, 2000, 2001, 3999, 4000, 10000};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        count = counts[i];
        if (count < 100)
            ck_assert_uint_eq(read_all(10), count ? (count + 9) / 10 : 1);
        for (size_t k = 0; k < ARRAY_LEN(sizes); k++)
            ck_assert_uint_eq(read_all(sizes[k]), count ? (count + sizes[k] - 1) / sizes[k] : 1);
    }
    ck_assert_uint_le(largest_read, PAGE_BATCH);
}
END_TEST

START_TEST(test_page_read__a_page_is_never_larger_than_the_maximum)
{
    count = 25000;
    struct names page = read_page(STR(""), 20000);
    ck_assert_uint_eq(page.n, PAGE_MAX);
    ck_assert_ptr_nonnull(page.next.p);
    page = read_page(STR(""), 0);
    ck_assert_uint_eq(page.n, PAGE_DEFAULT);
    ck_assert_ptr_nonnull(page.next.p);
}
END_TEST

/* Piece after piece, each behind the last name of the one before; returns their number. */
static size_t read_pieces(size_t most)
{
    struct page page = {.most = most};
    size_t at = 0, pieces = 0;
    do {
        struct names piece;
        struct err err = {.kind = ERR_NONE};
        ck_assert_msg(page__read(arena, &tables, &page, &piece, &err), "%s", err.msg);
        ck_assert(piece.found);
        for (size_t i = 0; i < piece.n; i++, at++)
            ck_assert(str_eq(piece.v[i], arena_printf(arena, "%05zu", at)));
        page.after = piece.next;
        pieces++;
    } while (page.after.p);
    ck_assert_uint_eq(at, count);
    return pieces;
}

START_TEST(test_page_read__pieces_are_single_batches)
{
    static const size_t counts[] = {0, 1, 1999, 2000, 2001, 25000};
    for (size_t i = 0; i < ARRAY_LEN(counts); i++) {
        count = counts[i];
        reads = 0;
        ck_assert_uint_eq(read_pieces(0), count / PAGE_BATCH + 1);
        ck_assert_uint_eq(reads, count / PAGE_BATCH + 1);
        ck_assert_uint_eq(read_pieces(70), count / 70 + 1);
        ck_assert_uint_eq(read_pieces(SIZE_MAX), count / PAGE_BATCH + 1);
    }
    ck_assert_uint_le(largest_read, PAGE_BATCH);
}
END_TEST

START_TEST(test_page_read__a_list_of_nothing_that_exists)
{
    struct names out;
    struct page page = {.token = STR(""), .size = 5};
    struct err err;
    tables.parent = STR("nowhere");
    ck_assert(page__read(arena, &tables, &page, &out, &err));
    ck_assert(!out.found);
    ck_assert_ptr_null(out.next.p);
}
END_TEST

START_TEST(test_page_read__errors_come_through)
{
    struct names out;
    struct err err = {.kind = ERR_NONE};
    struct page page = {.token = page__token(arena, &tables, STR("x"))};
    ck_assert(!page__read(arena, &tables, &page, &out, &err));
    ck_assert_int_eq(err.kind, ERR_UNAVAILABLE);
    page.token = STR("17");
    ck_assert(!page__read(arena, &tables, &page, &out, &err));
    ck_assert_int_eq(err.kind, ERR_BAD_REQUEST);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("catalog/page");
    TCase *cases = tcase_create("catalog/page");
    tcase_set_timeout(cases, 60);
    tcase_add_checked_fixture(cases, begin, end);
    tcase_add_test(cases, test_page_after__without_a_token_a_piece_of_everything);
    tcase_add_test(cases, test_page_after__an_empty_token_is_the_first_page);
    tcase_add_test(cases, test_page_token__leads_back_to_the_last_name);
    tcase_add_test(cases, test_page_token__belongs_to_one_list);
    tcase_add_test(cases, test_page_after__tokens_nobody_handed_out);
    tcase_add_test(cases, test_page_read__every_name_once);
    tcase_add_test(cases, test_page_read__a_page_is_never_larger_than_the_maximum);
    tcase_add_test(cases, test_page_read__pieces_are_single_batches);
    tcase_add_test(cases, test_page_read__a_list_of_nothing_that_exists);
    tcase_add_test(cases, test_page_read__errors_come_through);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
