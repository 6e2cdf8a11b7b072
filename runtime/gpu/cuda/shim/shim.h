// What shim.c and libraries.c give to Go.

#ifndef CANCHA_SHIM_H
#define CANCHA_SHIM_H

#include <stddef.h>

enum { CANCHA_ABSENT = -1, CANCHA_LACKS = -2 };

// cancha_driver is how opening the library went.
struct cancha_driver {
	int open;
	int emulated;
	int code;      // of cuInit, or one of the enum above
	char why[512]; // what the loader or the library says, or the symbol that is missing
};

// cancha_open opens the library, the first time.
const struct cancha_driver *cancha_open(void);

// cancha_library opens a library and looks its functions up; -1 where it is not there, -2 where it lacks one. why is what the loader says.
int cancha_library(const char *path, const char *const *names, void **functions, int count, char *why, size_t size);

#endif
