/* What kind of network address a host's name has led to. */
#pragma once

#include <sys/socket.h>

enum address {
    ADDRESS_PUBLIC,
    ADDRESS_PRIVATE,  /* this machine, its networks, and what no host of the internet has */
    ADDRESS_IDENTITY, /* link-local, and elsewhere, where a cloud tells a machine who it is */
};

/* An address within another one (mapped, translated, tunnelled) is the kind that it holds. */
enum address address_of(const struct sockaddr *at);
/* Of the text that curl shows for a connection; what is no address is ADDRESS_IDENTITY. */
enum address address_of_text(const char *text);
