//go:build nvidia && linux

#include <dlfcn.h>
#include <stdio.h>

#include "shim.h"

int cancha_library(const char *path, const char *const *names, void **functions, int count, char *why, size_t size) {
	void *lib = dlopen(path, RTLD_NOW | RTLD_LOCAL);
	if (!lib) {
		snprintf(why, size, "%s", dlerror());
		return -1;
	}
	for (int i = 0; i < count; i++) {
		functions[i] = dlsym(lib, names[i]);
		if (!functions[i]) {
			snprintf(why, size, "%s", names[i]);
			dlclose(lib);
			return -2;
		}
	}
	return 0;
}
