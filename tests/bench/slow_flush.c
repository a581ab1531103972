/* To be preloaded: fsync and fdatasync take FLUSH_DELAY_US microseconds longer, as on a disk that
   is across the network. */
#include <dlfcn.h>
#include <stdlib.h>
#include <unistd.h>

static useconds_t delay;

__attribute__((constructor)) static void read_delay(void)
{
    const char *text = getenv("FLUSH_DELAY_US");
    delay = text ? (useconds_t)atoi(text) : 0;
}

static int slowly(int fd, const char *name)
{
    int (*real)(int);
    *(void **)&real = dlsym(RTLD_NEXT, name);
    if (delay)
        usleep(delay);
    return real(fd);
}

int fsync(int fd)
{
    return slowly(fd, "fsync");
}

int fdatasync(int fd)
{
    return slowly(fd, "fdatasync");
}
