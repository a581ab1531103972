/* A folder for one test, gone with it. */
#pragma once

#include <stddef.h>

/* Makes it; valid until folder_remove. */
const char *folder_make(void);
void folder_remove(void);
/* "<folder>/<name>" in one of a few buffers that are used in turn. */
const char *folder_path(const char *name);
/* "file://<folder>/<name>", likewise. */
const char *folder_uri(const char *name);
