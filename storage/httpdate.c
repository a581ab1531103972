#include "httpdate.h"

#include "arena.h"

#include <stdio.h>
#include <time.h>

enum { TEXT = 64 };

int64_t httpdate_parse(struct str s)
{
    struct tm tm = {0};
    char text[TEXT];
    if (s.n == 0 || s.n >= sizeof(text))
        return 0;
    memcpy(text, s.p, s.n);
    text[s.n] = '\0';
    const char *end = strptime(text, "%a, %d %b %Y %H:%M:%S GMT", &tm);
    return end ? (int64_t)timegm(&tm) * 1000 : 0;
}

/* Not strftime: the names are English ones in every locale. */
struct str httpdate_text(struct arena *a, int64_t ms)
{
    static const char days[] = "SunMonTueWedThuFriSat";
    static const char months[] = "JanFebMarAprMayJunJulAugSepOctNovDec";
    time_t t = (time_t)(ms / 1000);
    struct tm tm = {0};
    (void)gmtime_r(&t, &tm);
    return arena_printf(a, "%.3s, %02d %.3s %d %02d:%02d:%02d GMT", days + (size_t)tm.tm_wday * 3,
        tm.tm_mday, months + (size_t)tm.tm_mon * 3, tm.tm_year + 1900, tm.tm_hour, tm.tm_min,
        tm.tm_sec);
}
