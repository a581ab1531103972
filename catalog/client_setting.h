/* Names that clients take for settings of their own: who may set one for others could lead their
 * keys and data elsewhere, or shows keys to all who may read. */
#pragma once

#include <stdbool.h>

#include "str.h"

/* Some clients merge the properties of a table into their settings, all of them what a warehouse
 * tells. */
enum client_setting_of { CLIENT_SETTING_OF_TABLE = 1, CLIENT_SETTING_OF_WAREHOUSE = 2 };
bool client_setting(struct str name, enum client_setting_of of);
