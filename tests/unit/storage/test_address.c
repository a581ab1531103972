#include "address.h"

#include "base.h"

#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <string.h>

static const struct {
    const char *text;
    enum address kind;
} rows[] = {
    {"8.8.8.8",                  ADDRESS_PUBLIC  },
    {"52.216.0.1",               ADDRESS_PUBLIC  },
    {"1.0.0.0",                  ADDRESS_PUBLIC  },
    {"9.255.255.255",            ADDRESS_PUBLIC  },
    {"11.0.0.0",                 ADDRESS_PUBLIC  },
    {"100.63.255.255",           ADDRESS_PUBLIC  },
    {"100.128.0.0",              ADDRESS_PUBLIC  },
    {"126.255.255.255",          ADDRESS_PUBLIC  },
    {"128.0.0.0",                ADDRESS_PUBLIC  },
    {"169.253.255.255",          ADDRESS_PUBLIC  },
    {"169.255.0.0",              ADDRESS_PUBLIC  },
    {"168.63.129.15",            ADDRESS_PUBLIC  },
    {"172.15.255.255",           ADDRESS_PUBLIC  },
    {"172.32.0.0",               ADDRESS_PUBLIC  },
    {"192.167.255.255",          ADDRESS_PUBLIC  },
    {"192.169.0.0",              ADDRESS_PUBLIC  },
    {"198.17.255.255",           ADDRESS_PUBLIC  },
    {"198.20.0.0",               ADDRESS_PUBLIC  },
    {"223.255.255.255",          ADDRESS_PUBLIC  },
    {"0.0.0.0",                  ADDRESS_PRIVATE },
    {"0.1.2.3",                  ADDRESS_PRIVATE },
    {"10.0.0.0",                 ADDRESS_PRIVATE },
    {"10.255.255.255",           ADDRESS_PRIVATE },
    {"100.64.0.0",               ADDRESS_PRIVATE },
    {"100.127.255.255",          ADDRESS_PRIVATE },
    {"127.0.0.1",                ADDRESS_PRIVATE },
    {"127.255.255.255",          ADDRESS_PRIVATE },
    {"172.16.0.0",               ADDRESS_PRIVATE },
    {"172.31.255.255",           ADDRESS_PRIVATE },
    {"192.0.0.1",                ADDRESS_PRIVATE },
    {"192.0.2.1",                ADDRESS_PRIVATE },
    {"192.168.0.0",              ADDRESS_PRIVATE },
    {"192.168.255.255",          ADDRESS_PRIVATE },
    {"198.18.0.0",               ADDRESS_PRIVATE },
    {"198.19.255.255",           ADDRESS_PRIVATE },
    {"198.51.100.7",             ADDRESS_PRIVATE },
    {"203.0.113.7",              ADDRESS_PRIVATE },
    {"224.0.0.1",                ADDRESS_PRIVATE },
    {"240.0.0.1",                ADDRESS_PRIVATE },
    {"255.255.255.255",          ADDRESS_PRIVATE },
    {"169.254.0.0",              ADDRESS_IDENTITY},
    {"169.254.169.254",          ADDRESS_IDENTITY},
    {"169.254.170.2",            ADDRESS_IDENTITY},
    {"169.254.255.255",          ADDRESS_IDENTITY},
    {"168.63.129.16",            ADDRESS_IDENTITY},
    {"192.0.0.192",              ADDRESS_IDENTITY},
    {"100.100.100.200",          ADDRESS_IDENTITY},
    {"2600:1f14::1",             ADDRESS_PUBLIC  },
    {"2a00:1450::1",             ADDRESS_PUBLIC  },
    {"3fff:1000::",              ADDRESS_PUBLIC  },
    {"::",                       ADDRESS_PRIVATE },
    {"::1",                      ADDRESS_PRIVATE },
    {"::7f00:1",                 ADDRESS_PRIVATE }, /* the old form of 127.0.0.1 */
    {"100::1",                   ADDRESS_PRIVATE },
    {"2001::1",                  ADDRESS_PRIVATE }, /* Teredo */
    {"2001:db8::1",              ADDRESS_PRIVATE },
    {"3fff:fff::1",              ADDRESS_PRIVATE },
    {"4000::1",                  ADDRESS_PRIVATE },
    {"fc00::1",                  ADDRESS_PRIVATE },
    {"fd12:3456::1",             ADDRESS_PRIVATE },
    {"fec0::1",                  ADDRESS_PRIVATE },
    {"ff02::1",                  ADDRESS_PRIVATE },
    {"64:ff9b:1::1",             ADDRESS_PRIVATE },
    {"fe80::1",                  ADDRESS_IDENTITY},
    {"febf::1",                  ADDRESS_IDENTITY},
    {"fd00:ec2::254",            ADDRESS_IDENTITY},
    {"fd20:ce::254",             ADDRESS_IDENTITY},
    {"::ffff:8.8.8.8",           ADDRESS_PUBLIC  },
    {"::ffff:127.0.0.1",         ADDRESS_PRIVATE },
    {"::ffff:10.1.2.3",          ADDRESS_PRIVATE },
    {"::ffff:169.254.169.254",   ADDRESS_IDENTITY},
    {"64:ff9b::8.8.8.8",         ADDRESS_PUBLIC  },
    {"64:ff9b::192.168.1.1",     ADDRESS_PRIVATE },
    {"64:ff9b::169.254.169.254", ADDRESS_IDENTITY},
    {"2002:808:808::1",          ADDRESS_PUBLIC  },
    {"2002:7f00:1::1",           ADDRESS_PRIVATE },
    {"2002:a9fe:a9fe::1",        ADDRESS_IDENTITY},
};

START_TEST(test_address__of_text)
{
    ck_assert_msg(address_of_text(rows[_i].text) == rows[_i].kind, "%s", rows[_i].text);
}
END_TEST

START_TEST(test_address__of_a_socket)
{
    struct sockaddr_storage at = {0};
    struct sockaddr_in *four = (void *)&at;
    struct sockaddr_in6 *six = (void *)&at;
    if (inet_pton(AF_INET, rows[_i].text, &four->sin_addr) == 1) {
        at.ss_family = AF_INET;
    } else {
        ck_assert_int_eq(inet_pton(AF_INET6, rows[_i].text, &six->sin6_addr), 1);
        at.ss_family = AF_INET6;
    }
    ck_assert_msg(address_of((const void *)&at) == rows[_i].kind, "%s", rows[_i].text);
}
END_TEST

START_TEST(test_address__what_is_none_is_kept_away_from)
{
    static const char *const texts[] = {
        "", "localhost", "fe80::1%eth0", "127.1", "0x7f.0.0.1", "1"};
    const struct sockaddr local = {.sa_family = AF_UNIX};
    for (size_t i = 0; i < ARRAY_LEN(texts); i++)
        ck_assert_msg(address_of_text(texts[i]) == ADDRESS_IDENTITY, "%s", texts[i]);
    ck_assert_int_eq(address_of(&local), ADDRESS_IDENTITY);
}
END_TEST

int main(void)
{
    TCase *tc = tcase_create("address");
    tcase_add_loop_test(tc, test_address__of_text, 0, ARRAY_LEN(rows));
    tcase_add_loop_test(tc, test_address__of_a_socket, 0, ARRAY_LEN(rows));
    tcase_add_test(tc, test_address__what_is_none_is_kept_away_from);
    Suite *suite = suite_create("address");
    suite_add_tcase(suite, tc);
    SRunner *runner = srunner_create(suite);
    srunner_run_all(runner, CK_NORMAL);
    int failed = srunner_ntests_failed(runner);
    srunner_free(runner);
    return failed ? 1 : 0;
}
