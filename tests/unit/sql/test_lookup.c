#include "fixture.h"
#include "sql_lookup.h"

#include "lane.h"
#include "proxy.h"

#include <poll.h>
#include <stdio.h>

/* One batch, waited for as a worker does. */
static struct sql_found *look_up(
    struct fixture *f, struct sql_lookup *l, const struct sql_key *keys, size_t n)
{
    struct sql_found *found = NULL;

    ck_ok(f, sql_lookup_send(l, keys, n, &f->err));
    for (;;) {
        enum sql_lookup_state state = sql_lookup_recv(f->a, l, &found, &f->err);
        if (state != SQL_LOOKUP_PENDING) {
            ck_ok(f, state == SQL_LOOKUP_READY);
            return found;
        }
        struct pollfd p = {.fd = sql_lookup_fd(l),
            .events = (short)(POLLIN | (sql_lookup_wants_write(l) ? POLLOUT : 0))};
        ck_assert(p.fd >= 0);
        ck_assert(poll(&p, 1, 5000) == 1);
    }
}

static void start(struct fixture *f, int engine, struct sql_lookup **l)
{
    fixture_open(f, engine);
    ns_make(f, "n");
    struct sql_new_object o = new_object_at(f, "n", "a+b", "w/n/1");
    ck_assert_int_eq(insert(f, &o), SQL_INSERTED);
    ck_ok(f, sql_lookup_open(f->s, l, &f->err));
}

static struct sql_key object_key(struct fixture *f, struct str ns, struct str name)
{
    return (struct sql_key){
        .warehouse = f->warehouse, .kind = SQL_KEY_OBJECT, .ns = {ns,   ns  },
                .name = {name, name}
    };
}

START_TEST(test_lookup__objects_and_namespaces_in_one_batch)
{
    struct fixture f;
    struct sql_lookup *l;

    start(&f, _i, &l);
    struct sql_key keys[] = {
        object_key(&f, STR("n"), STR("a+b")),
        object_key(&f, STR("n"), STR("none")),
        object_key(&f, STR("none"), STR("a+b")),
        {.warehouse = f.warehouse,     .kind = SQL_KEY_NAMESPACE, .ns = {STR("n"), STR("n")}      },
        {.warehouse = f.warehouse,     .kind = SQL_KEY_NAMESPACE, .ns = {STR("none"), STR("none")}},
        {.warehouse = f.warehouse + 1, .kind = SQL_KEY_NAMESPACE, .ns = {STR("n")}                },
    };
    struct sql_found *found = look_up(&f, l, keys, ARRAY_LEN(keys));
    ck_assert(found[0].ns_found && found[0].object.id > 0);
    ck_assert_int_eq(found[0].object.kind, SQL_TABLE);
    ck_str(found[0].object.location, "s3://b/w/n/1");
    ck_str(found[0].object.metadata_location, "s3://b/w/n/1/metadata/0.json");
    ck_assert(found[1].ns_found && found[1].object.id == 0);
    ck_assert(!found[2].ns_found && found[2].object.id == 0);
    ck_assert(found[3].ns_found && found[3].ns.id > 0);
    ck_str(found[3].ns.path, "n");
    ck_str(found[3].ns.properties, "{}");
    ck_assert(!found[4].ns_found && !found[5].ns_found);
    sql_lookup_close(&l);
    fixture_close(&f);
}
END_TEST

START_TEST(test_lookup__room_for_something_new)
{
    struct fixture f;
    struct sql_lookup *l;

    start(&f, _i, &l);
    struct sql_key keys[] = {
        {.warehouse = f.warehouse, .kind = SQL_KEY_ROOM, .ns = {STR("n")},    .name = {STR("new")}},
        {.warehouse = f.warehouse, .kind = SQL_KEY_ROOM, .ns = {STR("n")},    .name = {STR("a+b")}},
        {.warehouse = f.warehouse, .kind = SQL_KEY_ROOM, .ns = {STR("none")}, .name = {STR("new")}},
    };
    struct sql_found *found = look_up(&f, l, keys, ARRAY_LEN(keys));
    ck_assert(found[0].ns_found && found[0].free && found[0].ns.id > 0);
    ck_str(found[0].ns.path, "n");
    ck_str(found[0].ns.properties, "{}");
    ck_assert(found[1].ns_found && !found[1].free);
    ck_assert(!found[2].ns_found && !found[2].free);
    sql_lookup_close(&l);
    fixture_close(&f);
}
END_TEST

START_TEST(test_lookup__the_first_reading_that_exists_wins)
{
    struct fixture f;
    struct sql_lookup *l;

    start(&f, _i, &l);
    struct sql_key key = object_key(&f, STR("n"), STR("a b"));
    key.name[1] = STR("a+b");
    struct sql_found *found = look_up(&f, l, &key, 1);
    ck_assert(found->object.id > 0 && found->reading == 1);

    struct sql_new_object o = new_object_at(&f, "n", "a b", "w/n/2");
    ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
    found = look_up(&f, l, &key, 1);
    ck_assert(found->reading == 0);
    ck_str(found->object.location, "s3://b/w/n/2");

    struct sql_key ns = {.warehouse = f.warehouse, .kind = SQL_KEY_NAMESPACE};
    ns.ns[0] = STR("n m");
    ns.ns[1] = STR("n");
    found = look_up(&f, l, &ns, 1);
    ck_assert(found->ns_found && found->reading == 1);

    struct sql_key none = object_key(&f, STR("x y"), STR("q"));
    none.ns[1] = STR("n");
    found = look_up(&f, l, &none, 1);
    ck_assert(found->ns_found && found->reading == 1 && found->object.id == 0);
    sql_lookup_close(&l);
    fixture_close(&f);
}
END_TEST

START_TEST(test_lookup__names_that_look_like_syntax)
{
    static const char *const names[] = {
        "\"", "\\", "{a,b}", "NULL", "'; --", "$1", "a,b", "%s", "\n", "\xf0\x9f\xa7\x8a", " "};
    struct fixture f;
    struct sql_lookup *l;
    struct sql_key keys[ARRAY_LEN(names) + 1];
    char path[32];

    start(&f, _i, &l);
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        snprintf(path, sizeof(path), "w/n/x%zu", i);
        struct sql_new_object o = new_object_at(&f, "n", names[i], path);
        ck_assert_int_eq(insert(&f, &o), SQL_INSERTED);
        keys[i] = object_key(&f, STR("n"), str_from(names[i]));
    }
    keys[ARRAY_LEN(names)] = object_key(&f, STR("n"), STR("a\0b"));
    struct sql_found *found = look_up(&f, l, keys, ARRAY_LEN(keys));
    for (size_t i = 0; i < ARRAY_LEN(names); i++)
        ck_assert_msg(found[i].object.id > 0, "%s", names[i]);
    ck_assert(found[ARRAY_LEN(names)].object.id == 0);
    sql_lookup_close(&l);
    fixture_close(&f);
}
END_TEST

START_TEST(test_lookup__many_keys_and_many_batches)
{
    enum { N = 3000 };
    struct fixture f;
    struct sql_lookup *l;

    start(&f, _i, &l);
    struct sql_key *keys = ARENA_ARRAY(f.a, struct sql_key, N);
    for (size_t i = 0; i < N; i++)
        keys[i] = object_key(
            &f, STR("n"), i % 3 == 0 ? STR("a+b") : arena_printf(f.a, "missing-%zu-%0500zu", i, i));
    for (int round = 0; round < 3; round++) {
        struct sql_found *found = look_up(&f, l, keys, N);
        for (size_t i = 0; i < N; i++)
            ck_assert(found[i].ns_found && (found[i].object.id > 0) == (i % 3 == 0));
    }
    ck_assert(look_up(&f, l, keys, 0) != NULL);
    sql_lookup_close(&l);
    fixture_close(&f);
}
END_TEST

START_TEST(test_lookup__works_where_blocking_is_forbidden)
{
    struct fixture f;
    struct sql_lookup *l;

    start(&f, _i, &l);
    struct sql_key key = object_key(&f, STR("n"), STR("a+b"));
    lane_enter(LANE_FAST);
    ck_assert(look_up(&f, l, &key, 1)->object.id > 0);
    lane_enter(LANE_SLOW);
    sql_lookup_close(&l);
    fixture_close(&f);
}
END_TEST

START_TEST(test_lookup_pg__a_lost_connection_is_said)
{
    struct fixture f;
    struct sql_lookup *l;
    struct sql_found *found;

    start(&f, 1, &l);
    struct sql_key key = object_key(&f, STR("n"), STR("a+b"));
    pg_admin(&f,
        "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name = 'firn'",
        NULL, 0);
    bool sent = sql_lookup_send(l, &key, 1, &f.err);
    enum sql_lookup_state state = SQL_LOOKUP_PENDING;
    while (sent && state == SQL_LOOKUP_PENDING)
        state = sql_lookup_recv(f.a, l, &found, &f.err);
    ck_assert(!sent || state == SQL_LOOKUP_FAILED);
    ck_assert_int_eq(f.err.kind, ERR_UNAVAILABLE);
    sql_lookup_close(&l);
    ck_ok(&f, sql_lookup_open(f.s, &l, &f.err));
    ck_assert(look_up(&f, l, &key, 1)->object.id > 0);
    sql_lookup_close(&l);
    fixture_close(&f);
}
END_TEST

START_TEST(test_lookup_pg__no_answer_for_five_seconds_is_given_up)
{
    struct fixture f;
    struct sql_lookup *l;
    struct sql_found *found;
    char database[512];

    start(&f, 1, &l);
    sql_lookup_close(&l);
    struct proxy *proxy = proxy_new();
    snprintf(database, sizeof(database),
        "postgresql://firn@/postgres?host=%s&options=-c%%20"
        "search_path%%3D%s",
        proxy_dir(proxy), f.schema);
    struct sql *s = fixture_sql(&f, database);
    ck_ok(&f, sql_lookup_open(s, &l, &f.err));
    struct sql_key key = object_key(&f, STR("n"), STR("a+b"));
    ck_assert(look_up(&f, l, &key, 1)->object.id > 0);

    proxy_arm(proxy, PROXY_STALL, "lookup", 1, NULL, NULL);
    int64_t since = clock_mono_us();
    enum sql_lookup_state state = SQL_LOOKUP_PENDING;
    ck_ok(&f, sql_lookup_send(l, &key, 1, &f.err));
    while (state == SQL_LOOKUP_PENDING) {
        struct pollfd p = {.fd = sql_lookup_fd(l), .events = POLLIN};
        poll(&p, 1, 50);
        state = sql_lookup_recv(f.a, l, &found, &f.err);
    }
    int64_t took = clock_mono_us() - since;
    ck_assert_int_eq(state, SQL_LOOKUP_FAILED);
    ck_assert_int_eq(f.err.kind, ERR_UNAVAILABLE);
    ck_assert(took >= 5000000 && took < 30000000);
    sql_lookup_close(&l);
    ck_ok(&f, sql_lookup_open(s, &l, &f.err));
    ck_assert(look_up(&f, l, &key, 1)->object.id > 0);
    sql_lookup_close(&l);
    sql_close(&s);
    proxy_free(&proxy);
    fixture_close(&f);
}
END_TEST

static void add(TCase *tc)
{
    int n = engines();

    tcase_add_loop_test(tc, test_lookup__objects_and_namespaces_in_one_batch, 0, n);
    tcase_add_loop_test(tc, test_lookup__room_for_something_new, 0, n);
    tcase_add_loop_test(tc, test_lookup__the_first_reading_that_exists_wins, 0, n);
    tcase_add_loop_test(tc, test_lookup__names_that_look_like_syntax, 0, n);
    tcase_add_loop_test(tc, test_lookup__many_keys_and_many_batches, 0, n);
    tcase_add_loop_test(tc, test_lookup__works_where_blocking_is_forbidden, 0, n);
    if (!have_pg())
        return;
    tcase_add_test(tc, test_lookup_pg__a_lost_connection_is_said);
    tcase_add_test(tc, test_lookup_pg__no_answer_for_five_seconds_is_given_up);
}

int main(void)
{
    return run("sql/lookup", add);
}
