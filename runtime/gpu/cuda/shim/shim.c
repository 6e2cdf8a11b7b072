//go:build nvidia && linux

#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "shim.h"

// What the table holds before the library is open, or when it does not start, and in place of what it lacks.
static int no_device(void) { return 100; }
static int not_supported(void) { return 801; }

#define SYMBOL(name) (void *)no_device,
__attribute__((visibility("hidden"))) void *cancha_cuda_table[] = {
#include "symbols.h"
};
#undef SYMBOL

#define SYMBOL(name) #name,
static const char *const names[] = {
#include "symbols.h"
};
#undef SYMBOL

static pthread_once_t once = PTHREAD_ONCE_INIT;
static struct cancha_driver driver;
static int (*device_get)(int *, int);
static int (*device_count)(int *);
static int (*driver_version)(int *);

// Without these nothing can be done; what else is missing fails where it is called.
static const char *const wanted[] = {
	"cuDeviceGetName", "cuDeviceGetAttribute", "cuDeviceGetUuid", "cuDeviceTotalMem_v2", "cuDevicePrimaryCtxRetain", "cuDevicePrimaryCtxRelease_v2",
	"cuCtxSetCurrent", "cuMemAlloc_v2", "cuMemFree_v2", "cuMemGetInfo_v2", "cuMemcpyHtoDAsync_v2", "cuMemcpyDtoHAsync_v2", "cuModuleLoadData",
	"cuModuleGetFunction", "cuLaunchKernel", "cuStreamCreate", "cuStreamDestroy_v2", "cuStreamSynchronize", "cuEventCreate", "cuEventRecord",
	"cuEventSynchronize", "cuEventElapsedTime",
};

static void fail(int code, const char *what, const char *detail) {
	driver.code = code;
	snprintf(driver.why, sizeof driver.why, "%s%s", what, detail);
}

static void *open_library(void) {
	static const char *const places[] = {"libcuda.so.1", "/usr/local/nvidia/lib64/libcuda.so.1", "/usr/lib/wsl/lib/libcuda.so.1"};
	const char *given = getenv("CANCHA_LIBCUDA");
	if (given && *given) {
		void *lib = dlopen(given, RTLD_NOW | RTLD_LOCAL);
		if (!lib) fail(CANCHA_ABSENT, "CANCHA_LIBCUDA: ", dlerror());
		return lib;
	}
	char first[sizeof driver.why] = "";
	for (size_t i = 0; i < sizeof places / sizeof *places; i++) {
		void *lib = dlopen(places[i], RTLD_NOW | RTLD_LOCAL);
		if (lib) return lib;
		const char *said = dlerror();
		if (i == 0) snprintf(first, sizeof first, "%s", said);
	}
	fail(CANCHA_ABSENT, "", first);
	return NULL;
}

static int has(void *lib, const char *name) {
	if (dlsym(lib, name)) return 1;
	fail(CANCHA_LACKS, name, "");
	return 0;
}

static void open_driver(void) {
	void *lib = open_library();
	if (!lib) return;
	for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
		if (!has(lib, wanted[i])) return;
	if (!has(lib, "cuInit") || !has(lib, "cuDeviceGet") || !has(lib, "cuDeviceGetCount") || !has(lib, "cuDriverGetVersion")) return;
	driver.emulated = dlsym(lib, "cancha_emulation") != NULL;
	int (*init)(unsigned) = (int (*)(unsigned))dlsym(lib, "cuInit");
	int code = init(0);
	if (code != 0) {
		const char *text = "";
		int (*describe)(int, const char **) = (int (*)(int, const char **))dlsym(lib, "cuGetErrorString");
		if (!describe || describe(code, &text) != 0 || !text) text = "";
		fail(code, "", text);
		return;
	}
	device_get = (int (*)(int *, int))dlsym(lib, "cuDeviceGet");
	device_count = (int (*)(int *))dlsym(lib, "cuDeviceGetCount");
	driver_version = (int (*)(int *))dlsym(lib, "cuDriverGetVersion");
	for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
		void *symbol = dlsym(lib, names[i]);
		cancha_cuda_table[i] = symbol ? symbol : (void *)not_supported;
	}
	driver.open = 1;
}

const struct cancha_driver *cancha_open(void) {
	pthread_once(&once, open_driver);
	return &driver;
}

// cu calls cuInit when the program starts, and ends it where that fails: so it is only said yes to, and the library is opened, and really
// started, by who asks for a device first. That also spares programs that ask for none the time.

#define HIDDEN __attribute__((visibility("hidden")))

HIDDEN int cuInit(unsigned flags) { (void)flags; return 0; }

HIDDEN int cuDeviceGetCount(int *count) {
	*count = 0;
	return cancha_open()->open ? device_count(count) : 0;
}

HIDDEN int cuDeviceGet(int *device, int ordinal) { return cancha_open()->open ? device_get(device, ordinal) : no_device(); }

HIDDEN int cuDriverGetVersion(int *version) {
	*version = 0;
	return cancha_open()->open ? driver_version(version) : 0;
}
