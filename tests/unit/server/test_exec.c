#include "exec.h"

#include <check.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stddef.h>

#include "clock.h"
#include "lane.h"

enum { LONG_US = 20000000 };

/* A door that tasks wait at until the test opens it. */
struct door {
    pthread_mutex_t lock;
    pthread_cond_t changed;
    bool open;
    int arrived;
};

static struct door door;

static void door_reset(void)
{
    pthread_mutex_init(&door.lock, NULL);
    pthread_cond_init(&door.changed, NULL);
    door.open = false;
    door.arrived = 0;
}

static void door_pass(void)
{
    pthread_mutex_lock(&door.lock);
    door.arrived++;
    pthread_cond_broadcast(&door.changed);
    while (!door.open)
        pthread_cond_wait(&door.changed, &door.lock);
    pthread_mutex_unlock(&door.lock);
}

static void door_await(int arrived)
{
    pthread_mutex_lock(&door.lock);
    while (door.arrived < arrived)
        pthread_cond_wait(&door.changed, &door.lock);
    pthread_mutex_unlock(&door.lock);
}

static void door_open(void)
{
    pthread_mutex_lock(&door.lock);
    door.open = true;
    pthread_cond_broadcast(&door.changed);
    pthread_mutex_unlock(&door.lock);
}

struct job {
    struct exec_task task;
    int number;
    bool waits;
    bool refused;
};

static pthread_mutex_t order_lock = PTHREAD_MUTEX_INITIALIZER;
static int order[1024], n_order;
static atomic_int running_of_key, most_of_key;

static struct job *of_task(struct exec_task *t)
{
    return (struct job *)(void *)((char *)t - offsetof(struct job, task));
}

static void run(struct exec_task *t)
{
    struct job *j = of_task(t);

    ck_assert(lane_may_block());
    if (t->key) {
        int now = atomic_fetch_add(&running_of_key, 1) + 1;
        if (now > atomic_load(&most_of_key))
            atomic_store(&most_of_key, now);
    }
    pthread_mutex_lock(&order_lock);
    order[n_order++] = j->number;
    pthread_mutex_unlock(&order_lock);
    if (j->waits)
        door_pass();
    if (t->key)
        atomic_fetch_sub(&running_of_key, 1);
}

static void refuse(struct exec_task *t)
{
    of_task(t)->refused = true;
}

static struct exec *begin(unsigned threads, unsigned queue, unsigned per_key)
{
    const struct exec_conf conf = {.threads = threads, .queue = queue, .per_key = per_key};
    struct exec *e = NULL;
    struct err err = {0};

    ck_assert(exec_start(&conf, &e, &err));
    door_reset();
    n_order = 0;
    atomic_store(&most_of_key, 0);
    return e;
}

static void end(struct exec *e)
{
    ck_assert(exec_wait_idle(e, clock_mono_us() + LONG_US));
    exec_stop(e);
    ck_assert(exec_join(&e, clock_mono_us() + LONG_US));
    ck_assert_ptr_null(e);
}

static enum exec_result submit(struct exec *e, struct job *j, int number, int64_t key, bool waits)
{
    *j = (struct job){
        .task = {.run = run, .refuse = refuse, .key = key},
          .number = number, .waits = waits
    };
    return exec_submit(e, &j->task);
}

START_TEST(test_exec__tasks_of_one_key_run_one_by_one_in_order)
{
    struct exec *e = begin(8, 1000, 500);
    static struct job jobs[200];

    for (int i = 0; i < 200; i++)
        ck_assert_int_eq(submit(e, &jobs[i], i, 7, false), EXEC_TAKEN);
    end(e);
    ck_assert_int_eq(n_order, 200);
    ck_assert_int_eq(atomic_load(&most_of_key), 1);
    for (int i = 0; i < 200; i++)
        ck_assert_int_eq(order[i], i);
}
END_TEST

START_TEST(test_exec__a_waiting_key_occupies_no_thread)
{
    struct exec *e = begin(2, 1000, 64);
    struct job jobs[10], other;

    for (int i = 0; i < 10; i++)
        ck_assert_int_eq(submit(e, &jobs[i], i, 7, i == 0), EXEC_TAKEN);
    door_await(1);
    /* One thread stands in the first task; the other is free although nine of its key wait. */
    ck_assert_int_eq(submit(e, &other, 100, 8, true), EXEC_TAKEN);
    door_await(2);
    door_open();
    end(e);
    ck_assert_int_eq(n_order, 11);
}
END_TEST

START_TEST(test_exec__full_queue_refuses_and_leaves_the_task_alone)
{
    struct exec *e = begin(1, 2, 64);
    struct job first, waiting[2], extra, upkeep;

    ck_assert_int_eq(submit(e, &first, 0, 0, true), EXEC_TAKEN);
    door_await(1);
    ck_assert_int_eq(submit(e, &waiting[0], 1, 0, false), EXEC_TAKEN);
    ck_assert_int_eq(submit(e, &waiting[1], 2, 0, false), EXEC_TAKEN);
    ck_assert_int_eq(submit(e, &extra, 3, 0, false), EXEC_FULL);
    ck_assert_uint_eq(exec_waiting(e), 2);
    upkeep = (struct job){
        .task = {.run = run, .refuse = refuse},
          .number = 4
    };
    ck_assert_int_eq(exec_submit_upkeep(e, &upkeep.task), EXEC_TAKEN);
    door_open();
    end(e);
    ck_assert_int_eq(n_order, 4);
    ck_assert(!extra.refused);
}
END_TEST

START_TEST(test_exec__a_key_has_room_for_so_many_and_no_more)
{
    struct exec *e = begin(2, 100, 3);
    struct job jobs[6], other;

    ck_assert_int_eq(submit(e, &jobs[0], 0, 7, true), EXEC_TAKEN);
    door_await(1);
    for (int i = 1; i <= 3; i++)
        ck_assert_int_eq(submit(e, &jobs[i], i, 7, false), EXEC_TAKEN);
    ck_assert_int_eq(submit(e, &jobs[4], 4, 7, false), EXEC_KEY_FULL);
    ck_assert_int_eq(submit(e, &other, 9, 8, false), EXEC_TAKEN);
    door_open();
    ck_assert(exec_wait_idle(e, clock_mono_us() + LONG_US));
    ck_assert_int_eq(submit(e, &jobs[5], 5, 7, false), EXEC_TAKEN);
    end(e);
    ck_assert_int_eq(n_order, 6);
}
END_TEST

START_TEST(test_exec__a_hot_key_lets_others_in_between)
{
    struct exec *e = begin(1, 100, 64);
    struct job hot[3], other, block;

    ck_assert_int_eq(submit(e, &block, 99, 0, true), EXEC_TAKEN);
    door_await(1);
    for (int i = 0; i < 3; i++)
        ck_assert_int_eq(submit(e, &hot[i], i, 7, false), EXEC_TAKEN);
    ck_assert_int_eq(submit(e, &other, 50, 8, false), EXEC_TAKEN);
    door_open();
    end(e);
    const int expected[] = {99, 0, 50, 1, 2};
    for (int i = 0; i < 5; i++)
        ck_assert_int_eq(order[i], expected[i]);
}
END_TEST

START_TEST(test_exec_stop__what_has_not_begun_is_refused_what_runs_ends)
{
    struct exec *e = begin(1, 100, 64);
    struct job running, parked, queued, keyed, late;

    ck_assert_int_eq(submit(e, &running, 0, 7, true), EXEC_TAKEN);
    door_await(1);
    ck_assert_int_eq(submit(e, &parked, 1, 7, false), EXEC_TAKEN);
    ck_assert_int_eq(submit(e, &queued, 2, 0, false), EXEC_TAKEN);
    ck_assert_int_eq(submit(e, &keyed, 3, 8, false), EXEC_TAKEN);
    ck_assert(!exec_wait_idle(e, clock_mono_us() + 1000));
    exec_stop(e);
    ck_assert(!running.refused && parked.refused && queued.refused && keyed.refused);
    ck_assert_int_eq(submit(e, &late, 4, 0, false), EXEC_STOPPED);
    ck_assert(!exec_join(&e, clock_mono_us() + 1000));
    ck_assert_ptr_nonnull(e);
    door_open();
    ck_assert(exec_join(&e, clock_mono_us() + LONG_US));
    ck_assert_int_eq(n_order, 1);
}
END_TEST

/* Many threads submit to few keys: never two of a key at once, nothing lost. */
static atomic_int per_key[4], ran;

static void run_counted(struct exec_task *t)
{
    ck_assert_int_eq(atomic_fetch_add(&per_key[t->key], 1), 0);
    atomic_fetch_add(&ran, 1);
    atomic_fetch_sub(&per_key[t->key], 1);
    xfree(t);
}

static void *submitter(void *arg)
{
    for (int i = 0; i < 2000; i++) {
        struct exec_task *t = xcalloc(1, sizeof(*t));
        t->run = run_counted;
        t->key = 1 + i % 3;
        while (exec_submit(arg, t) != EXEC_TAKEN)
            ;
    }
    return NULL;
}

START_TEST(test_exec__many_submitters)
{
    struct exec *e = begin(4, 64, 16);
    pthread_t threads[4];

    for (int i = 0; i < 4; i++)
        pthread_create(&threads[i], NULL, submitter, e);
    for (int i = 0; i < 4; i++)
        pthread_join(threads[i], NULL);
    end(e);
    ck_assert_int_eq(atomic_load(&ran), 8000);
}
END_TEST

static struct job second;
static struct exec *of_second;

/* The client of the first one, who sends the next at once. */
static void submit_second(struct exec_task *t)
{
    (void)t;
    ck_assert_int_eq(submit(of_second, &second, 2, 7, false), EXEC_TAKEN);
}

START_TEST(test_exec__a_task_is_done_when_its_key_is_free)
{
    struct exec *e = of_second = begin(2, 1000, 64);
    struct job first = {
        .task = {.run = run, .done = submit_second, .refuse = refuse, .key = 7},
          .number = 1
    };

    ck_assert_int_eq(exec_submit(e, &first.task), EXEC_TAKEN);
    end(e);
    ck_assert_int_eq(n_order, 2);
    ck_assert(!first.task.parked && !second.task.parked);
}
END_TEST

START_TEST(test_exec__a_task_knows_that_it_waited_for_its_key)
{
    struct exec *e = begin(2, 1000, 64);
    struct job first, other;

    ck_assert_int_eq(submit(e, &first, 1, 7, true), EXEC_TAKEN);
    door_await(1);
    ck_assert_int_eq(submit(e, &second, 2, 7, false), EXEC_TAKEN);
    ck_assert_int_eq(submit(e, &other, 3, 8, false), EXEC_TAKEN);
    door_open();
    end(e);
    ck_assert(second.task.parked && !first.task.parked && !other.task.parked);
}
END_TEST

int main(void)
{
    Suite *suite = suite_create("server/exec");
    TCase *cases = tcase_create("server/exec");
    tcase_add_test(cases, test_exec__tasks_of_one_key_run_one_by_one_in_order);
    tcase_add_test(cases, test_exec__a_waiting_key_occupies_no_thread);
    tcase_add_test(cases, test_exec__full_queue_refuses_and_leaves_the_task_alone);
    tcase_add_test(cases, test_exec__a_key_has_room_for_so_many_and_no_more);
    tcase_add_test(cases, test_exec__a_hot_key_lets_others_in_between);
    tcase_add_test(cases, test_exec_stop__what_has_not_begun_is_refused_what_runs_ends);
    tcase_add_test(cases, test_exec__many_submitters);
    tcase_add_test(cases, test_exec__a_task_is_done_when_its_key_is_free);
    tcase_add_test(cases, test_exec__a_task_knows_that_it_waited_for_its_key);
    suite_add_tcase(suite, cases);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed != 0;
}
