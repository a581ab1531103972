#include "address.h"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#include "base.h"
#include "store.h"

struct range {
    uint8_t bytes[16];
    uint8_t bits;
    enum address kind;
};

/* The first that holds an address decides; others are public. RFC 6890 and its successors; the
 * single addresses are those of Azure, Oracle and Alibaba that answer what 169.254.169.254 does
 * elsewhere. */
static const struct range fours[] = {
    {{169, 254},           16, ADDRESS_IDENTITY},
    {{168, 63, 129, 16},   32, ADDRESS_IDENTITY},
    {{192, 0, 0, 192},     32, ADDRESS_IDENTITY},
    {{100, 100, 100, 200}, 32, ADDRESS_IDENTITY},
    {{0},                  8,  ADDRESS_PRIVATE },
    {{10},                 8,  ADDRESS_PRIVATE },
    {{100, 64},            10, ADDRESS_PRIVATE },
    {{127},                8,  ADDRESS_PRIVATE },
    {{172, 16},            12, ADDRESS_PRIVATE },
    {{192, 0, 0},          24, ADDRESS_PRIVATE },
    {{192, 0, 2},          24, ADDRESS_PRIVATE },
    {{192, 88, 99},        24, ADDRESS_PRIVATE },
    {{192, 168},           16, ADDRESS_PRIVATE },
    {{198, 18},            15, ADDRESS_PRIVATE },
    {{198, 51, 100},       24, ADDRESS_PRIVATE },
    {{203, 0, 113},        24, ADDRESS_PRIVATE },
    {{224},                3,  ADDRESS_PRIVATE }, /* multicast, reserved, broadcast */
};

/* Others are private: public ones are in 2000::/3. fd00:ec2::/32 is AWS's, fd20:ce::254 Google's.
 */
static const struct range sixes[] = {
    {{0xfe, 0x80},                                                    10,  ADDRESS_IDENTITY},
    {{0xfd, 0, 0x0e, 0xc2},                                           32,  ADDRESS_IDENTITY},
    {{0xfd, 0x20, 0, 0xce, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x02, 0x54}, 128, ADDRESS_IDENTITY},
    {{0x20, 0x01, 0},                                                 23,  ADDRESS_PRIVATE },
    {{0x20, 0x01, 0x0d, 0xb8},                                        32,  ADDRESS_PRIVATE },
    {{0x3f, 0xff},                                                    20,  ADDRESS_PRIVATE },
    {{0x20},                                                          3,   ADDRESS_PUBLIC  },
};

/* Where an IPv4 address is held, at which byte. */
static const struct holder {
    uint8_t bytes[16];
    uint8_t bits, at;
} holders[] = {
    {{[10] = 0xff, [11] = 0xff}, 96, 12}, /* mapped */
    {{0, 0x64, 0xff, 0x9b},      96, 12}, /* NAT64 */
    {{0x20, 0x02},               16, 2 }, /* 6to4 */
};

static bool holds(const uint8_t *range, unsigned bits, const uint8_t *address)
{
    unsigned whole = bits / 8, rest = bits % 8;
    unsigned mask = 0xffU << (8 - rest) & 0xffU;
    return memcmp(range, address, whole) == 0 &&
           (rest == 0 || (range[whole] & mask) == (address[whole] & mask));
}

static enum address look_up(
    const struct range *ranges, size_t n, const uint8_t *address, enum address otherwise)
{
    for (size_t i = 0; i < n; i++)
        if (holds(ranges[i].bytes, ranges[i].bits, address))
            return ranges[i].kind;
    return otherwise;
}

static enum address of_four(const uint8_t *address)
{
    return look_up(fours, ARRAY_LEN(fours), address, ADDRESS_PUBLIC);
}

static enum address of_six(const uint8_t *address)
{
    for (size_t i = 0; i < ARRAY_LEN(holders); i++)
        if (holds(holders[i].bytes, holders[i].bits, address))
            return of_four(address + holders[i].at);
    return look_up(sixes, ARRAY_LEN(sixes), address, ADDRESS_PRIVATE);
}

enum address address_of(const struct sockaddr *at)
{
    const struct sockaddr_in *four = (const void *)at;
    const struct sockaddr_in6 *six = (const void *)at;
    if (at->sa_family == AF_INET)
        return of_four((const uint8_t *)&four->sin_addr);
    return at->sa_family == AF_INET6 ? of_six(six->sin6_addr.s6_addr) : ADDRESS_IDENTITY;
}

enum address address_of_text(const char *text)
{
    uint8_t address[16];
    if (inet_pton(AF_INET, text, address) == 1)
        return of_four(address);
    return inet_pton(AF_INET6, text, address) == 1 ? of_six(address) : ADDRESS_IDENTITY;
}

/* As the resolver reads numbers: also 134744072, 0x8.010.2056. */
static bool read_four(const char *text, struct in_addr *out)
{
    return strspn(text, "0123456789abcdefABCDEFxX.") == strlen(text) && inet_aton(text, out) == 1;
}

/* False: it is none. The one inside, where it is another spelling of an IPv4 address. */
static bool read_six(const char *text, uint8_t *six, struct in_addr *inside, bool *is_four)
{
    if (inet_pton(AF_INET6, text, six) != 1)
        return false;
    *is_four = false;
    for (size_t i = 0; i < ARRAY_LEN(holders) && !*is_four; i++) {
        *is_four = holders[i].bits == 96 && holds(holders[i].bytes, 96, six);
        memcpy(inside, six + holders[i].at, sizeof(*inside));
    }
    return true;
}

bool store_address(struct str host, char out[STORE_ADDRESS])
{
    char text[STORE_ADDRESS];
    bool brackets = str_starts(host, STR("[")) && str_ends(host, STR("]"));
    struct str bare = brackets ? str_sub(host, 1, host.n - 2) : host;
    struct in_addr four;
    uint8_t six[16];
    bool is_four = true;

    if (bare.n >= sizeof(text))
        return false;
    memcpy(text, bare.p, bare.n);
    text[bare.n] = '\0';
    if (!read_six(text, six, &four, &is_four) && (brackets || !read_four(text, &four)))
        return false;
    return inet_ntop(is_four ? AF_INET : AF_INET6, is_four ? (void *)&four : six, out,
               STORE_ADDRESS) != NULL;
}
