/* One table's purge, on SQLite and a local folder: what is done, what is left, and why it ends. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "../storage/folder.h"
#include "arena.h"
#include "avro_tool.h"
#include "base.h"
#include "catalog_priv.h"
#include "clock.h"
#include "purge_priv.h"
#include "sql_keep.h"
#include "sql_warehouse.h"

enum { MANIFESTS = 2, FILES = 3 };
#define METADATA "t/metadata/1.metadata.json"

static struct arena *arena;
static struct err err;
static struct sql *sql;
static struct store *store;
static struct cache *cache;
static struct catalog *catalog;
static struct purge *purge;
static struct purge_count count;

#define must(expr) ck_assert_msg((expr), "%s: %s", #expr, err.msg)

static struct str uri(const char *name)
{
    return arena_dup(arena, str_from(folder_uri(arena_printf(arena, "wh/%s", name).p)));
}

static bool there(const char *name)
{
    return store_file_present(store, uri(name));
}

static void put(const char *name, struct str bytes)
{
    must(store_put_new(store, uri(name), &bytes, 1, "text/plain", &err));
}

static void begin(void)
{
    err = (struct err){.kind = ERR_NONE};
    count = (struct purge_count){0};
    arena = arena_new();
    folder_make();
    const char *base = arena_cstr(arena, str_from(folder_uri("wh")));
    const struct sql_conf sc = {
        .database = arena_printf(arena, "sqlite:%s", folder_path("firn.db")).p,
        .prepared = true,
        .pool = 2,
        .connect_ms = 1000};
    const struct store_conf stc = {.base = base};
    must(sql_open(&sc, &sql, &err));
    must(sql_migrate(sql, &err));
    must(store_open(&stc, &store, &err));
    cache = cache_new(1 << 20, 1 << 20);
    struct catalog_conf cc = {.sql = sql, .cache = cache, .transaction_tables = 1};
    must(sql_warehouse_ensure(
        arena, sql, STR("main"), store_base(store), NULL, &cc.warehouse, &err));
    must(catalog_new(&cc, arena_new(), store, &catalog, &err));
    purge = purge_new(&(struct purge_conf){.catalog = catalog, .rate = 100000});
}

static void end(void)
{
    purge_free(&purge);
    catalog_unref(&catalog);
    cache_free(&cache);
    sql_close(&sql);
    folder_remove();
    arena_free(&arena);
}

/* -- A table as files, and its row
 * ------------------------------------------------------------------
 */

static void put_list(void)
{
    struct buf b = avro_made("{\"type\":\"record\",\"name\":\"l\",\"fields\":[{\"name\":"
                             "\"manifest_path\",\"type\":\"string\"}]}",
        "null");
    struct buf block;
    buf_init(&block, 1 << 20);
    for (int i = 0; i < MANIFESTS; i++)
        put_bytes(&block, uri(arena_printf(arena, "t/metadata/m%d.avro", i).p));
    put_block(&b, MANIFESTS, buf_view(&block));
    put("t/metadata/list.avro", buf_view(&b));
    buf_fini(&block);
    buf_fini(&b);
}

/* Its files, and one that lies elsewhere, in the folder that the table's properties name. */
static void put_manifest(int m)
{
    struct buf b = avro_made("{\"type\":\"record\",\"name\":\"e\",\"fields\":[{\"name\":\"status\","
                             "\"type\":\"int\"},{\"name\":\"data_file\",\"type\":{\"type\":"
                             "\"record\",\"name\":\"d\",\"fields\":[{\"name\":\"file_path\","
                             "\"type\":\"string\"}]}}]}",
        "null");
    struct buf block;
    buf_init(&block, 1 << 20);
    for (int i = 0; i < FILES; i++) {
        const char *name = arena_printf(arena, "t/data/%d-%d", m, i).p;
        put(name, STR("data"));
        put_long(&block, i);
        put_bytes(&block, uri(name));
    }
    put_long(&block, 1);
    put_bytes(&block, uri("elsewhere/f"));
    put_block(&b, FILES + 1, buf_view(&block));
    put(arena_printf(arena, "t/metadata/m%d.avro", m).p, buf_view(&b));
    buf_fini(&block);
    buf_fini(&b);
}

static void put_metadata(void)
{
    struct str list = uri("t/metadata/list.avro"), old = uri("t/metadata/0.metadata.json");
    put("t/metadata/0.metadata.json", STR("{}"));
    put("t/metadata/s.stats", STR("PFA1"));
    put("t/metadata/1.metadata.json",
        arena_printf(arena,
            "{\"format-version\":2,\"table-uuid\":\"0f0e0d0c-0b0a-4908-8706-050403020100\","
            "\"location\":\"%.*s\",\"last-sequence-number\":1,\"last-updated-ms\":5,"
            "\"last-column-id\":1,\"schemas\":[{\"type\":\"struct\",\"schema-id\":0,\"fields\":[]}]"
            ","
            "\"current-schema-id\":0,\"partition-specs\":[{\"spec-id\":0,\"fields\":[]}],"
            "\"default-spec-id\":0,\"last-partition-id\":999,\"sort-orders\":[{\"order-id\":0,"
            "\"fields\":[]}],\"default-sort-order-id\":0,\"current-snapshot-id\":1,"
            "\"snapshots\":[{\"snapshot-id\":1,\"sequence-number\":1,\"timestamp-ms\":5,"
            "\"manifest-list\":\"%.*s\"}],\"refs\":{\"main\":{\"snapshot-id\":1,\"type\":"
            "\"branch\"}},\"statistics\":[{\"snapshot-id\":1,\"statistics-path\":\"%.*s\"}],"
            "\"metadata-log\":[{\"timestamp-ms\":4,\"metadata-file\":\"%.*s\"}],"
            "\"properties\":{\"write.data.path\":\"%.*s\"}}",
            STR_ARG(uri("t")), STR_ARG(list), STR_ARG(uri("t/metadata/s.stats")), STR_ARG(old),
            STR_ARG(uri("elsewhere"))));
}

static struct sql_change by(void)
{
    struct caller who = {.deadline_us = clock_mono_us() + 5000000};
    return catalog__change(arena, &who, (struct str){NULL, 0}, (struct str){NULL, 0});
}

static void insert(const char *name, const char *place, const char *metadata)
{
    struct sql_change change = by();
    struct location at;
    struct sql_new_object o = {.warehouse = catalog->warehouse.id,
        .ns = STR("n"),
        .name = str_from(name),
        .kind = SQL_TABLE,
        .uuid = change.token,
        .location = uri(place),
        .metadata_location = uri(metadata)};
    enum sql_insert_result result;
    enum sql_kind taken_by;
    must(location_parse(arena, o.location, &at, &err));
    o.place = (struct sql_place){at.authority, at.path};
    must(sql_object_insert(sql, &o, &change, &result, &taken_by, &err));
    ck_assert_int_eq(result, SQL_INSERTED);
}

static void drop(const char *name)
{
    struct sql_change change = by();
    struct sql_object *was;
    bool there;
    must(sql_object_drop(arena, sql, catalog->warehouse.id, SQL_TABLE, STR("n"), str_from(name),
        SQL_PURGE_FILES, &change, &there, &was, &err));
}

/* The table "t", dropped. */
static struct sql_mark dropped(void)
{
    struct sql_change first = by();
    struct sql_mark *marks;
    size_t n;
    bool ok;
    put("elsewhere/f", STR("data"));
    put_list();
    for (int i = 0; i < MANIFESTS; i++)
        put_manifest(i);
    put_metadata();
    must(sql_ns_create(sql, catalog->warehouse.id, STR("n"), STR("{}"), &first, &ok, &err));
    insert("t", "t", METADATA);
    drop("t");
    must(sql_mark_page(arena, sql, catalog->warehouse.id, NULL, 10, &marks, &n, &err));
    ck_assert_uint_eq(n, 1);
    return marks[0];
}

static void blocked(const char *name)
{
    const char *path = arena_cstr(arena, str_from(folder_path(name)));
    ck_assert_int_eq(unlink(path), 0);
    ck_assert_int_eq(mkdir(path, 0700), 0);
}

static void freed(const char *name)
{
    ck_assert_int_eq(rmdir(folder_path(name)), 0);
}

static size_t files_left(void)
{
    struct store_entry *entries;
    size_t n;
    must(store_list(arena, store, uri("t"), 100, &entries, &n, &err));
    return n;
}

/* -- Cases --------------------------------------------------------------------------------------
 */

enum { ALL = MANIFESTS * FILES + MANIFESTS + 1 /* list */ + 1 /* statistics */ + 2 /* metadata */ };

START_TEST(test_object__everything_but_what_lies_elsewhere)
{
    struct sql_mark mark = dropped();
    ck_assert_uint_eq(files_left(), ALL);
    ck_assert_int_eq(purge__object(purge, &mark, PURGE_TRY, &count), PURGE_DONE);
    ck_assert_uint_eq(files_left(), 0);
    ck_assert(there("elsewhere/f"));
    ck_assert_uint_eq(count.deleted, ALL);
    ck_assert_uint_eq(count.outside, MANIFESTS);
    ck_assert_uint_eq(count.failed, 0);
    ck_assert_int_eq(purge__object(purge, &mark, PURGE_TRY, &count), PURGE_DONE);
    ck_assert_uint_eq(count.deleted, ALL);
}
END_TEST

START_TEST(test_object__what_leads_to_a_file_stays_with_it)
{
    struct sql_mark mark = dropped();
    blocked("wh/t/data/0-1");
    ck_assert_int_eq(purge__object(purge, &mark, PURGE_TRY, &count), PURGE_LEFT);
    ck_assert_uint_eq(count.failed, 1);
    ck_assert(there("t/metadata/m0.avro") && there("t/metadata/list.avro"));
    ck_assert(there("t/metadata/1.metadata.json") && there("t/metadata/0.metadata.json"));
    ck_assert(there("t/metadata/s.stats"));
    ck_assert(!there("t/metadata/m1.avro") && !there("t/data/0-2") && !there("t/data/1-0"));
    freed("wh/t/data/0-1");
    count.failed = 0;
    ck_assert_int_eq(purge__object(purge, &mark, PURGE_TRY, &count), PURGE_DONE);
    ck_assert_uint_eq(files_left(), 0);
}
END_TEST

START_TEST(test_object__the_last_try_passes_over_what_stays)
{
    struct sql_mark mark = dropped();
    blocked("wh/t/data/0-1");
    blocked("wh/t/metadata/0.metadata.json");
    ck_assert_int_eq(purge__object(purge, &mark, PURGE_LAST_TRY, &count), PURGE_DONE);
    ck_assert_uint_eq(count.failed, 2);
    ck_assert_uint_eq(files_left(), 0);
    freed("wh/t/data/0-1");
}
END_TEST

START_TEST(test_object__stopped)
{
    struct sql_mark mark = dropped();
    purge_stop(purge);
    ck_assert_int_eq(purge__object(purge, &mark, PURGE_TRY, &count), PURGE_STOPPED);
    ck_assert_uint_eq(files_left(), ALL);
}
END_TEST

START_TEST(test_object__another_server_holds_the_lease)
{
    struct sql_mark mark = dropped();
    bool taken;
    struct str name = arena_printf(arena, "purge/%lld", (long long)mark.id);
    must(sql_lease_take(sql, catalog->warehouse.id, name, STR("another"), 60000, &taken, &err));
    ck_assert(taken);
    ck_assert_int_eq(purge__object(purge, &mark, PURGE_TRY, &count), PURGE_LOST);
    ck_assert_uint_eq(files_left(), ALL);
}
END_TEST

/* At, above or below; and anywhere, with its metadata among ours. */
START_TEST(test_object__another_table_lies_there)
{
    static const char *const places[] = {"t", "t/data", "far/away"};
    struct sql_mark mark = dropped();
    insert("other", places[_i], METADATA);
    ck_assert_int_eq(purge__object(purge, &mark, PURGE_TRY, &count), PURGE_SPARED);
    ck_assert_uint_eq(files_left(), ALL);
    ck_assert_uint_eq(count.deleted, 0);
}
END_TEST

static void make_folder(struct str name)
{
    ck_assert_int_eq(mkdir(folder_path(name.p), 0700), 0);
}

/* Many have their metadata, which is missing, in folders that are called alike, and the last one
 * there, or not. */
START_TEST(test_object__many_tables_lie_in_folders_called_alike)
{
    struct sql_mark mark = dropped();
    for (int i = 0; i <= 100; i++) {
        const char *place = arena_printf(arena, "x%d", i).p;
        const char *file = arena_printf(arena, "x%d/t/metadata/1.json", i).p;
        make_folder(arena_printf(arena, "wh/x%d", i));
        make_folder(arena_printf(arena, "wh/x%d/t", i));
        make_folder(arena_printf(arena, "wh/x%d/t/metadata", i));
        insert(place, place, _i && i == 100 ? METADATA : file);
    }
    ck_assert_int_eq(
        purge__object(purge, &mark, PURGE_TRY, &count), _i ? PURGE_SPARED : PURGE_DONE);
    ck_assert_uint_eq(files_left(), _i ? ALL : 0);
}
END_TEST

static size_t marks_left(void)
{
    struct sql_mark *marks;
    size_t n;
    must(sql_mark_page(arena, sql, catalog->warehouse.id, NULL, 10, &marks, &n, &err));
    return n;
}

START_TEST(test_run__the_mark_goes_last)
{
    (void)dropped();
    blocked("wh/t/data/0-1");
    int64_t pause = purge_run(purge);
    ck_assert_uint_eq(marks_left(), 1);
    ck_assert(pause > 5000 && pause <= 10001);
    freed("wh/t/data/0-1");
    pause = purge_run(purge); /* not due yet */
    ck_assert_uint_eq(marks_left(), 1);
    ck_assert(pause <= 10001);
    ck_assert_uint_gt(files_left(), 0);
    struct purge *other = purge_new(&(struct purge_conf){.catalog = catalog, .rate = 100000});
    (void)purge_run(other);
    ck_assert_uint_eq(marks_left(), 0);
    ck_assert_uint_eq(files_left(), 0);
    purge_free(&other);
}
END_TEST

/* Of two that the store fails on neither keeps the other waiting for good. */
START_TEST(test_run__what_cannot_be_read_stops_nothing_else)
{
    struct rlimit all, none;
    (void)dropped();
    insert("other", "other", "other/1.metadata.json");
    drop("other");
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &all), 0);
    none = (struct rlimit){.rlim_max = all.rlim_max};
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &none), 0);
    for (int i = 0; i < 5; i++) {
        int64_t pause = purge_run(purge);
        for (size_t k = 0; k < purge->n_waits; k++) /* time goes by */
            purge->waits[k].due_us -= pause * 1000;
    }
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &all), 0);
    ck_assert_uint_eq(purge->n_waits, 2);
    ck_assert_uint_eq(marks_left(), 2);
    ck_assert_uint_eq(files_left(), ALL);
}
END_TEST

START_TEST(test_run__at_rate_0_nothing)
{
    struct purge *idle = purge_new(&(struct purge_conf){.catalog = catalog, .rate = 0});
    (void)dropped();
    (void)purge_run(idle);
    ck_assert_uint_eq(marks_left(), 1);
    ck_assert_uint_eq(files_left(), ALL);
    purge_free(&idle);
}
END_TEST

int main(void)
{
    Suite *s = suite_create("purge");
    TCase *tc = tcase_create("all");
    tcase_add_checked_fixture(tc, begin, end);
    tcase_add_test(tc, test_object__everything_but_what_lies_elsewhere);
    tcase_add_test(tc, test_object__what_leads_to_a_file_stays_with_it);
    tcase_add_test(tc, test_object__the_last_try_passes_over_what_stays);
    tcase_add_test(tc, test_object__stopped);
    tcase_add_test(tc, test_object__another_server_holds_the_lease);
    tcase_add_loop_test(tc, test_object__another_table_lies_there, 0, 3);
    tcase_add_loop_test(tc, test_object__many_tables_lie_in_folders_called_alike, 0, 2);
    tcase_add_test(tc, test_run__the_mark_goes_last);
    tcase_add_test(tc, test_run__what_cannot_be_read_stops_nothing_else);
    tcase_add_test(tc, test_run__at_rate_0_nothing);
    suite_add_tcase(s, tc);
    SRunner *r = srunner_create(s);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
