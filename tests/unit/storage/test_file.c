#include "arena.h"
#include "base.h"
#include "folder.h"
#include "lane.h"
#include "store_priv.h"

#include <check.h>
#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static struct arena *a;
static struct store *s;
static struct err err;

/* Each test runs with openat2 and with the way without it. */
static void open_at(const char *base, const char *const *allowed, int how)
{
    struct store_conf conf = {.base = base, .allowed = allowed};
    ck_assert_msg(store_open(&conf, &s, &err), "%s", err.msg);
    ck_assert_int_eq(s->roots[0].open, ROOT_OPENAT2);
    for (size_t i = 0; i < s->n_roots; i++)
        s->roots[i].open = how ? ROOT_WALK : ROOT_OPENAT2;
}

static void begin(void)
{
    a = arena_new();
    (void)folder_make();
}

static void end(void)
{
    store_close(&s);
    arena_free(&a);
    folder_remove();
}

static bool put(const char *uri, const char *text)
{
    struct str piece = str_from(text);
    return store_put_new(s, str_from(uri), &piece, 1, "text/plain", &err);
}

static void check_text(const char *uri, const char *text)
{
    AUTO(buf_fini) struct buf b = {0};
    ck_assert_msg(store_get(s, str_from(uri), 1024, &b, &err), "%s", err.msg);
    ck_assert(str_eq(buf_view(&b), str_from(text)));
}

static enum err_kind get_fails(const char *uri, size_t max)
{
    AUTO(buf_fini) struct buf b = {0};
    ck_assert(!store_get(s, str_from(uri), max, &b, &err));
    return err.kind;
}

static enum err_kind put_fails(const char *uri)
{
    ck_assert(!put(uri, "x"));
    return err.kind;
}

static size_t count_entries(const char *path)
{
    size_t n = 0;
    DIR *d = opendir(path);
    ck_assert_ptr_nonnull(d);
    while (readdir(d))
        n++;
    (void)closedir(d);
    return n - 2;
}

START_TEST(test_store_open__makes_the_base)
{
    open_at(folder_uri("a/b/wh///"), NULL, _i);
    struct stat st;
    ck_assert_int_eq(stat(folder_path("a/b/wh"), &st), 0);
    ck_assert_str_eq(store_base(s).p, folder_uri("a/b/wh"));
    ck_assert_ptr_null(store_warning(s).p);
    ck_assert_msg(store_probe(s, &err), "%s", err.msg);
    ck_assert_uint_eq(count_entries(folder_path("a/b/wh")), 0);
}
END_TEST

START_TEST(test_store_open__refused)
{
    FILE *f = fopen(folder_path("file"), "w");
    (void)fclose(f);
    struct store_conf conf = {.base = folder_uri("file/wh")};
    ck_assert(!store_open(&conf, &s, &err));
    ck_assert_int_eq(err.kind, ERR_INTERNAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "/file/wh"));
    conf.base = "/srv/wh";
    ck_assert(!store_open(&conf, &s, &err));
    ck_assert_int_eq(err.kind, ERR_STORE_BAD_URI);
    const char *allowed[] = {"file:relative", NULL};
    conf = (struct store_conf){.base = folder_uri("wh"), .allowed = allowed};
    ck_assert(!store_open(&conf, &s, &err));
    ck_assert_ptr_nonnull(strstr(err.msg, "The allowed location file:relative"));
    ck_assert_ptr_null(s);
}
END_TEST

START_TEST(test_store_open__warns_of_a_folder_for_everybody)
{
    ck_assert_int_eq(mkdir(folder_path("wh"), 0700), 0);
    ck_assert_int_eq(chmod(folder_path("wh"), 0777), 0);
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert_ptr_nonnull(strstr(store_warning(s).p, "every user"));
}
END_TEST

START_TEST(test_store_check__beneath_base_or_allowed)
{
    const char *allowed[] = {folder_uri("other"), NULL};
    open_at(folder_uri("wh"), allowed, _i);
    ck_assert(store_check(a, s, str_from(folder_uri("wh/t")), &err));
    ck_assert(store_check(a, s, str_from(folder_uri("other/t")), &err));
    ck_assert(store_check(a, s, arena_printf(a, "file:%s", folder_path("wh/t")), &err));
    ck_assert(!store_check(a, s, str_from(folder_uri("wh2/t")), &err));
    ck_assert_int_eq(err.kind, ERR_STORE_DENIED);
    ck_assert(!store_check(a, s, STR("s3://bucket/t"), &err));
    ck_assert_int_eq(err.kind, ERR_STORE_DENIED);
    ck_assert(!store_check(a, s, str_from(folder_uri("wh/../x")), &err));
    ck_assert_int_eq(err.kind, ERR_STORE_BAD_URI);
}
END_TEST

START_TEST(test_store_put_new__joins_pieces_and_makes_folders)
{
    open_at(folder_uri("wh"), NULL, _i);
    struct str pieces[200];
    for (size_t i = 0; i < ARRAY_LEN(pieces); i++)
        pieces[i] = i % 3 == 0 ? STR("") : STR("ab");
    struct str uri = str_from(folder_uri("wh/ns/t/metadata/1.json"));
    ck_assert_msg(store_put_new(s, uri, pieces, ARRAY_LEN(pieces), "x", &err), "%s", err.msg);
    AUTO(buf_fini) struct buf b = {0};
    ck_assert(store_get(s, uri, 1024, &b, &err));
    ck_assert_uint_eq(b.n, 266);
    ck_assert(store_put_new(s, str_from(folder_uri("wh/empty")), NULL, 0, "x", &err));
    check_text(folder_uri("wh/empty"), "");
    ck_assert_uint_eq(count_entries(folder_path("wh/ns/t/metadata")), 1);
}
END_TEST

static bool put_first(const char *uri, const char *beside)
{
    struct str piece = STR("first");
    const struct store_file file = {str_from(uri), &piece, 1, "x", false};
    return store_put_first(s, &file, beside, &err);
}

START_TEST(test_store_put_first__makes_the_place_with_its_folders)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert_msg(put_first(folder_uri("wh/a/b/t/metadata/1.json"), "data"), "%s", err.msg);
    check_text(folder_uri("wh/a/b/t/metadata/1.json"), "first");
    ck_assert_uint_eq(count_entries(folder_path("wh/a/b/t/metadata")), 1);
    ck_assert_uint_eq(count_entries(folder_path("wh/a/b/t/data")), 0);
    ck_assert(put_first(folder_uri("wh/a/b/v/metadata/1.json"), NULL));
    ck_assert_uint_eq(count_entries(folder_path("wh/a/b/v")), 1);
    ck_assert(put_first(folder_uri("wh/u/metadata/1.json"), "data"));
}
END_TEST

START_TEST(test_store_put_first__folders_may_be_there_the_file_may_not)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert(put(folder_uri("wh/t/metadata/0.json"), "other"));
    ck_assert(put(folder_uri("wh/t/data"), "a file"));
    ck_assert(put_first(folder_uri("wh/t/metadata/1.json"), "data"));
    ck_assert(!put_first(folder_uri("wh/t/metadata/0.json"), "data"));
    ck_assert_int_eq(err.kind, ERR_STORE_EXISTS);
    check_text(folder_uri("wh/t/metadata/0.json"), "other");
    check_text(folder_uri("wh/t/data"), "a file");
    ck_assert(!put_first(folder_uri("wh/t/data/x/1.json"), NULL));
    ck_assert(!put_first(folder_uri("wh/t/data/1.json"), NULL));
    ck_assert_int_eq(err.kind, ERR_INTERNAL);
    ck_assert(!put_first(folder_uri("wh/1.json"), NULL));
}
END_TEST

START_TEST(test_store_put_first__never_through_a_link)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert(put(folder_uri("wh/real/metadata/0.json"), "other"));
    ck_assert_int_eq(symlink(folder_path("wh/real"), folder_path("wh/link")), 0);
    ck_assert(!put_first(folder_uri("wh/link/metadata/1.json"), "data"));
    ck_assert_int_eq(err.kind, ERR_STORE_DENIED);
    ck_assert(!put_first(folder_uri("wh/link/t/metadata/1.json"), "data"));
    ck_assert_uint_eq(count_entries(folder_path("wh/real")), 1);
}
END_TEST

START_TEST(test_store_put_new__never_replaces)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert(put(folder_uri("wh/x"), "first"));
    ck_assert_int_eq(put_fails(folder_uri("wh/x")), ERR_STORE_EXISTS);
    check_text(folder_uri("wh/x"), "first");
    ck_assert(put(folder_uri("wh/d/y"), "y"));
    ck_assert_int_eq(put_fails(folder_uri("wh/d")), ERR_STORE_EXISTS);
    ck_assert_int_eq(put_fails(folder_uri("wh")), ERR_STORE_EXISTS);
    ck_assert_uint_eq(count_entries(folder_path("wh")), 2);
}
END_TEST

enum { RACERS = 8, ROUNDS = 20 };

static atomic_int winners, losers;
static pthread_barrier_t line;

static void *race(void *arg)
{
    char text[16];
    (void)snprintf(text, sizeof(text), "racer %d", *(int *)arg);
    struct str piece = str_from(text);
    for (int i = 0; i < ROUNDS; i++) {
        char uri[256];
        struct err mine = {0};
        (void)snprintf(uri, sizeof(uri), "%s/new/%d/x", store_base(s).p, i);
        (void)pthread_barrier_wait(&line);
        if (store_put_new(s, str_from(uri), &piece, 1, "x", &mine))
            atomic_fetch_add(&winners, 1);
        else if (mine.kind == ERR_STORE_EXISTS)
            atomic_fetch_add(&losers, 1);
    }
    return NULL;
}

START_TEST(test_store_put_new__one_of_many_racers_wins)
{
    open_at(folder_uri("wh"), NULL, _i);
    (void)pthread_barrier_init(&line, NULL, RACERS);
    pthread_t threads[RACERS];
    int ids[RACERS];
    for (int i = 0; i < RACERS; i++) {
        ids[i] = i;
        ck_assert_int_eq(pthread_create(&threads[i], NULL, race, &ids[i]), 0);
    }
    for (int i = 0; i < RACERS; i++)
        (void)pthread_join(threads[i], NULL);
    ck_assert_int_eq(atomic_load(&winners), ROUNDS);
    ck_assert_int_eq(atomic_load(&losers), ROUNDS * (RACERS - 1));
    ck_assert_uint_eq(count_entries(folder_path("wh/new/0")), 1);
}
END_TEST

START_TEST(test_store_put_new__honours_the_umask)
{
    (void)umask(027);
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert(put(folder_uri("wh/d/x"), "x"));
    struct stat st;
    ck_assert_int_eq(stat(folder_path("wh/d/x"), &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0640);
    ck_assert_int_eq(stat(folder_path("wh/d"), &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0750);
    (void)umask(0);
    ck_assert(put(folder_uri("wh/e/x"), "x"));
    ck_assert_int_eq(stat(folder_path("wh/e/x"), &st), 0);
    ck_assert_int_eq(st.st_mode & 0777, 0666);
}
END_TEST

START_TEST(test_store_put_new__failure_leaves_nothing)
{
    open_at(folder_uri("wh"), NULL, _i);
    char *big = xcalloc(1, 100001);
    memset(big, 'x', 100000);
    (void)signal(SIGXFSZ, SIG_IGN);
    struct rlimit small = {65536, 65536};
    ck_assert_int_eq(setrlimit(RLIMIT_FSIZE, &small), 0);
    ck_assert(!put(folder_uri("wh/d/big"), big));
    xfree(big);
    ck_assert_int_eq(err.kind, ERR_INTERNAL);
    ck_assert_uint_eq(count_entries(folder_path("wh/d")), 0);
}
END_TEST

START_TEST(test_store_put_new__file_in_the_place_of_a_folder)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert(put(folder_uri("wh/x"), "x"));
    ck_assert_int_eq(put_fails(folder_uri("wh/x/y")), ERR_INTERNAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "a file stands where a folder is needed"));
}
END_TEST

START_TEST(test_store_put_new__root_removed_meanwhile)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert_int_eq(rmdir(folder_path("wh")), 0);
    ck_assert_int_eq(put_fails(folder_uri("wh/d/x")), ERR_INTERNAL);
    ck_assert_ptr_nonnull(strstr(err.msg, "was removed"));
}
END_TEST

enum { FILES = 3 * PUT_AT_ONCE / 2 };

/* Each in a folder of its own, which is not there yet. */
static void many(struct store_file *files)
{
    for (int i = 0; i < FILES; i++) {
        struct str *text = ARENA_NEW(a, struct str);
        *text = arena_printf(a, "text %d", i);
        files[i] = (struct store_file){
            arena_printf(a, "%s/t%d/m/a.json", folder_uri("wh"), i), text, 1, "text/plain", false};
    }
}

START_TEST(test_store_put_all__each_under_its_name)
{
    open_at(folder_uri("wh"), NULL, _i);
    struct store_file files[FILES];
    size_t at;
    many(files);
    ck_assert_msg(store_put_all(s, files, FILES, &at, &err), "%s", err.msg);
    for (int i = 0; i < FILES; i++) {
        ck_assert(files[i].written);
        check_text(files[i].uri.p, files[i].pieces->p);
    }
    ck_assert(store_put_all(s, files, 0, &at, &err));
}
END_TEST

/* What was written says so, or is gone again. */
static void check_undone(const struct store_file *files, size_t bad)
{
    for (size_t i = 0; i < FILES; i++) {
        if (i == bad)
            continue;
        bool there = store_file_present(s, files[i].uri);
        ck_assert(there == files[i].written);
        ck_assert(!there || i < bad);
    }
    ck_assert(!files[bad].written);
}

START_TEST(test_store_put_all__one_that_fails_is_named)
{
    open_at(folder_uri("wh"), NULL, _i);
    const size_t bad[] = {0, 5, PUT_AT_ONCE - 1, PUT_AT_ONCE + 3};
    for (size_t i = 0; i < ARRAY_LEN(bad); i++) {
        struct store_file files[FILES];
        size_t at;
        many(files);
        for (size_t j = 0; j < FILES; j++)
            ck_assert(store_delete(s, files[j].uri, &err));
        ck_assert(put(files[bad[i]].uri.p, "an earlier one"));
        ck_assert(!store_put_all(s, files, FILES, &at, &err));
        ck_assert_int_eq(err.kind, ERR_STORE_EXISTS);
        ck_assert_uint_eq(at, bad[i]);
        check_undone(files, bad[i]);
        check_text(files[bad[i]].uri.p, "an earlier one");
    }
}
END_TEST

START_TEST(test_store_put_all__elsewhere_is_denied)
{
    open_at(folder_uri("wh"), NULL, _i);
    struct store_file files[FILES];
    size_t at;
    many(files);
    files[2].uri = str_from(folder_uri("else/a.json"));
    ck_assert(!store_put_all(s, files, FILES, &at, &err));
    ck_assert_int_eq(err.kind, ERR_STORE_DENIED);
    ck_assert_uint_eq(at, 2);
    for (size_t i = 0; i < FILES; i++)
        ck_assert(!files[i].written);
    ck_assert_uint_eq(count_entries(folder_path("wh")), 0);
}
END_TEST

START_TEST(test_store__no_descriptors_left)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert(put(folder_uri("wh/d/x"), "x"));
    int next = open("/", O_PATH | O_CLOEXEC);
    struct rlimit limit = {(rlim_t)next, 4096}, old;
    (void)close(next);
    ck_assert_int_eq(getrlimit(RLIMIT_NOFILE, &old), 0);
    limit.rlim_max = old.rlim_max;
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &limit), 0);
    enum err_kind got = get_fails(folder_uri("wh/d/x"), 10);
    enum err_kind written = put_fails(folder_uri("wh/d/y"));
    ck_assert_int_eq(setrlimit(RLIMIT_NOFILE, &old), 0);
    ck_assert_int_eq(got, ERR_UNAVAILABLE);
    ck_assert_int_eq(written, ERR_UNAVAILABLE);
}
END_TEST

START_TEST(test_store__links_lead_nowhere)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert_int_eq(mkdir(folder_path("secret"), 0700), 0);
    FILE *f = fopen(folder_path("secret/x"), "w");
    (void)fclose(f);
    ck_assert_int_eq(symlink(folder_path("secret"), folder_path("wh/out")), 0);
    ck_assert_int_eq(symlink("../secret", folder_path("wh/rel")), 0);
    ck_assert_int_eq(symlink(folder_path("secret/x"), folder_path("wh/file")), 0);
    ck_assert(put(folder_uri("wh/in/x"), "x"));
    ck_assert_int_eq(symlink("in", folder_path("wh/inner")), 0);
    static const char *const names[] = {"wh/out/x", "wh/rel/x", "wh/file", "wh/inner/x"};
    for (size_t i = 0; i < ARRAY_LEN(names); i++) {
        enum err_kind kind = get_fails(folder_uri(names[i]), 10);
        ck_assert_msg(kind == ERR_STORE_DENIED || kind == ERR_STORE_NOT_FOUND, "%s", names[i]);
        ck_assert(!store_file_present(s, str_from(folder_uri(names[i]))));
    }
    (void)put_fails(folder_uri("wh/out/new"));
    (void)put_fails(folder_uri("wh/out/sub/new"));
    ck_assert(!store_make_dir(s, str_from(folder_uri("wh/out/sub")), &err));
    struct err ignored;
    (void)!store_delete(s, str_from(folder_uri("wh/out/x")), &ignored);
    ck_assert_uint_eq(count_entries(folder_path("secret")), 1);
}
END_TEST

START_TEST(test_store_open__base_behind_a_link)
{
    ck_assert_int_eq(mkdir(folder_path("real"), 0700), 0);
    ck_assert_int_eq(symlink("real", folder_path("wh")), 0);
    const char *allowed[] = {folder_uri(""), NULL};
    open_at(folder_uri("wh"), allowed, _i);
    ck_assert(put(folder_uri("wh/x"), "x"));
    check_text(folder_uri("real/x"), "x");
}
END_TEST

START_TEST(test_store_get__not_there)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert(put(folder_uri("wh/d/x"), "x"));
    ck_assert_int_eq(get_fails(folder_uri("wh/y"), 10), ERR_STORE_NOT_FOUND);
    ck_assert_int_eq(get_fails(folder_uri("wh/no/y"), 10), ERR_STORE_NOT_FOUND);
    ck_assert_int_eq(get_fails(folder_uri("wh/d/x/y"), 10), ERR_STORE_NOT_FOUND);
    ck_assert_int_eq(get_fails(folder_uri("wh/d"), 10), ERR_STORE_NOT_FOUND);
    ck_assert_int_eq(get_fails(folder_uri("wh"), 10), ERR_STORE_NOT_FOUND);
    ck_assert_int_eq(mkfifo(folder_path("wh/pipe"), 0600), 0);
    ck_assert_int_eq(get_fails(folder_uri("wh/pipe"), 10), ERR_STORE_NOT_FOUND);
    ck_assert_int_eq(get_fails(folder_uri("elsewhere"), 10), ERR_STORE_DENIED);
}
END_TEST

START_TEST(test_store_get__at_most_max)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert(put(folder_uri("wh/x"), "12345"));
    ck_assert_int_eq(get_fails(folder_uri("wh/x"), 4), ERR_TOO_LARGE);
    AUTO(buf_fini) struct buf b = {0};
    ck_assert(store_get(s, str_from(folder_uri("wh/x")), 5, &b, &err));
    ck_assert_uint_eq(b.n, 5);
}
END_TEST

START_TEST(test_store__percent_is_a_letter)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert(put(folder_uri("wh/a%20b/%2e%2e"), "x"));
    ck_assert_int_eq(access(folder_path("wh/a%20b/%2e%2e"), F_OK), 0);
    check_text(folder_uri("wh/a%20b/%2e%2e"), "x");
}
END_TEST

START_TEST(test_store_delete__twice_and_folders_stay)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert(put(folder_uri("wh/d/x"), "x"));
    ck_assert(store_delete(s, str_from(folder_uri("wh/d/x")), &err));
    ck_assert(store_delete(s, str_from(folder_uri("wh/d/x")), &err));
    ck_assert(store_delete(s, str_from(folder_uri("wh/no/x")), &err));
    ck_assert_uint_eq(count_entries(folder_path("wh/d")), 0);
    ck_assert(!store_delete(s, str_from(folder_uri("wh/d")), &err));
    ck_assert_int_eq(err.kind, ERR_INTERNAL);
}
END_TEST

START_TEST(test_store_file_present)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert(put(folder_uri("wh/d/x"), "x"));
    lane_enter(LANE_FAST);
    ck_assert(store_file_present(s, str_from(folder_uri("wh/d/x"))));
    ck_assert(!store_file_present(s, str_from(folder_uri("wh/d/y"))));
    ck_assert(!store_file_present(s, STR("s3://bucket/x")));
    ck_assert(!store_file_present(s, STR("file:///etc/passwd")));
    lane_enter(LANE_SLOW);
}
END_TEST

START_TEST(test_store_get__never_in_the_fast_lane)
{
    open_at(folder_uri("wh"), NULL, _i);
    lane_enter(LANE_FAST);
    struct buf b;
    (void)!store_get(s, str_from(folder_uri("wh/x")), 1, &b, &err);
}
END_TEST

START_TEST(test_store_make_dir__and_again)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert(store_make_dir(s, str_from(folder_uri("wh/t/metadata")), &err));
    ck_assert(store_make_dir(s, str_from(folder_uri("wh/t/metadata")), &err));
    ck_assert(store_make_dir(s, str_from(folder_uri("wh/t/data")), &err));
    ck_assert_uint_eq(count_entries(folder_path("wh/t")), 2);
}
END_TEST

static int by_uri(const void *x, const void *y)
{
    const struct store_entry *l = x, *r = y;
    return str_cmp(l->uri, r->uri);
}

START_TEST(test_store_list__files_beneath)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert(put(folder_uri("wh/t/a"), "1"));
    ck_assert(put(folder_uri("wh/t/m/b"), "22"));
    ck_assert(put(folder_uri("wh/t2/c"), "3"));
    ck_assert_int_eq(symlink("/etc", folder_path("wh/t/etc")), 0);
    struct store_entry *e = NULL;
    size_t n = 0;
    struct str folder = arena_printf(a, "file:%s/", folder_path("wh/t"));
    ck_assert_msg(store_list(a, s, folder, 100, &e, &n, &err), "%s", err.msg);
    ck_assert_uint_eq(n, 2);
    qsort(e, n, sizeof(*e), by_uri);
    ck_assert_str_eq(e[0].uri.p, arena_printf(a, "file:%s", folder_path("wh/t/a")).p);
    ck_assert_str_eq(e[1].uri.p, arena_printf(a, "file:%s", folder_path("wh/t/m/b")).p);
    ck_assert_int_eq(e[1].size, 2);
    ck_assert_int_gt(e[1].modified_ms, 1600000000000);
    ck_assert(store_list(a, s, folder, 1, &e, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert(store_list(a, s, str_from(folder_uri("wh/none")), 9, &e, &n, &err));
    ck_assert_uint_eq(n, 0);
}
END_TEST

START_TEST(test_store_list__endings_and_folders)
{
    open_at(folder_uri("wh"), NULL, _i);
    ck_assert(put(folder_uri("wh/t/m/b.json"), "1"));
    ck_assert(put(folder_uri("wh/t/m/c.avro"), "2"));
    ck_assert(put(folder_uri("wh/t/m/.firn-tmp-x"), "3"));
    struct store_entry *e = NULL;
    size_t n = 0;
    struct str folder = str_from(folder_uri("wh/t"));
    ck_assert(store_list_ending(a, s, folder, STR(".json"), 100, &e, &n, &err));
    ck_assert_uint_eq(n, 2);
    qsort(e, n, sizeof(*e), by_uri);
    ck_assert(store_is_scrap(e[0].uri) && !store_is_scrap(e[1].uri));
    ck_assert(str_ends(e[1].uri, STR("/m/b.json")));
    ck_assert(store_list_folders(a, s, folder, 100, &e, &n, &err));
    ck_assert_uint_eq(n, 1);
    ck_assert(str_ends(e[0].uri, STR("/t/m")));
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("file");
    tcase_add_checked_fixture(tc, begin, end);
#define ADD(name) tcase_add_loop_test(tc, name, 0, 2)
    ADD(test_store_open__makes_the_base);
    ADD(test_store_open__refused);
    ADD(test_store_open__warns_of_a_folder_for_everybody);
    ADD(test_store_open__base_behind_a_link);
    ADD(test_store_check__beneath_base_or_allowed);
    ADD(test_store_put_new__joins_pieces_and_makes_folders);
    ADD(test_store_put_first__makes_the_place_with_its_folders);
    ADD(test_store_put_first__folders_may_be_there_the_file_may_not);
    ADD(test_store_put_first__never_through_a_link);
    ADD(test_store_put_new__never_replaces);
    ADD(test_store_put_new__one_of_many_racers_wins);
    ADD(test_store_put_new__honours_the_umask);
    ADD(test_store_put_new__failure_leaves_nothing);
    ADD(test_store_put_new__file_in_the_place_of_a_folder);
    ADD(test_store_put_new__root_removed_meanwhile);
    ADD(test_store_put_all__each_under_its_name);
    ADD(test_store_put_all__one_that_fails_is_named);
    ADD(test_store_put_all__elsewhere_is_denied);
    ADD(test_store__no_descriptors_left);
    ADD(test_store__links_lead_nowhere);
    ADD(test_store__percent_is_a_letter);
    ADD(test_store_get__not_there);
    ADD(test_store_get__at_most_max);
    ADD(test_store_delete__twice_and_folders_stay);
    ADD(test_store_file_present);
    ADD(test_store_make_dir__and_again);
    ADD(test_store_list__files_beneath);
    ADD(test_store_list__endings_and_folders);
#undef ADD
    tcase_add_test_raise_signal(tc, test_store_get__never_in_the_fast_lane, SIGABRT);
    Suite *suite = suite_create("file");
    suite_add_tcase(suite, tc);
    SRunner *r = srunner_create(suite);
    srunner_run_all(r, CK_NORMAL);
    int failed = srunner_ntests_failed(r);
    srunner_free(r);
    return failed ? EXIT_FAILURE : EXIT_SUCCESS;
}
