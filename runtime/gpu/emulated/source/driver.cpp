// The calls of libcuda that runtime/gpu/cuda makes, as the CUDA driver API's reference describes them. What a call is not given here,
// it does not take either.

#include "block.h"

#include "kernels.cu"
#include "user.cu"

#include "brought.h" // funcs that libraries bring, and BROUGHT, which lists them

#include "device.h"

using namespace emulation;

#define API extern "C" __attribute__((visibility("default")))

// cancha_emulation is how a program knows that this is no GPU.
API const int cancha_emulation = 1;

// Function is a kernel, whatever its parameters.
struct Function {
	std::function<void(void *const *)> call;
	std::vector<size_t> sizes; // of the parameters
};

template <class... A, size_t... I> Function function(void (*f)(A...), std::index_sequence<I...>) {
	return {[f](void *const *p) { f(*(typename std::decay<A>::type *)p[I]...); }, {sizeof(A)...}};
}
template <class... A> Function function(void (*f)(A...)) { return function(f, std::index_sequence_for<A...>{}); }

static const std::map<std::string, Function> functions = {
#define HAS(name) {#name, function(name)},
	HAS(fill) HAS(vector_add) HAS(gather_rows) HAS(gather) HAS(bias) HAS(bias_relu) HAS(relu_gradient) HAS(adam) HAS(sum_parts) HAS(sum_total) HAS(sum_few)
	HAS(column_sums) HAS(softmax_cross_entropy) HAS(sgemm_128) HAS(sgemm_64) HAS(sgemm_32) HAS(conv2d_direct) HAS(conv2d_tiled)
	HAS(scale) {"_Z4turnPi", function(turn)},
	BROUGHT
};

struct Module {
	std::set<std::string> entries;
};
struct Graph {
	std::vector<Work> work;
};

static thread_local bool current; // the context is this thread's

using Lock = std::unique_lock<std::mutex>;

// IN_CONTEXT begins the calls that need a context.
#define IN_CONTEXT                                    \
	Lock lock(device.mutex);                      \
	if (!current) return INVALID_CONTEXT;         \
	if (device.broken) return device.broken;

API int cuInit(unsigned) {
	Lock lock(device.mutex);
	return faults.setting("init", SUCCESS);
}

API int cuDriverGetVersion(int *v) {
	Lock lock(device.mutex);
	*v = faults.setting("version", 12060);
	return SUCCESS;
}

API int cuDeviceGetCount(int *n) {
	Lock lock(device.mutex);
	*n = faults.setting("devices", 1);
	return SUCCESS;
}

API int cuDeviceGet(int *d, int ordinal) {
	*d = ordinal;
	return ordinal == 0 ? SUCCESS : INVALID_DEVICE;
}

API int cuDeviceGetName(char *name, int length, int) {
	snprintf(name, length, "CPU emulation of a GPU");
	return SUCCESS;
}

API int cuDeviceGetUuid(unsigned char *uuid, int) {
	memcpy(uuid, "CPU emulation\0\0\1", 16);
	return SUCCESS;
}

static size_t total_memory() { return faults.setting("memory", 2L << 30); }

API int cuDeviceTotalMem_v2(size_t *n, int) {
	Lock lock(device.mutex);
	*n = total_memory();
	return SUCCESS;
}

API int cuDeviceGetAttribute(int *v, int attribute, int) {
	Lock lock(device.mutex);
	switch (attribute) {
	case 16: // multiprocessors
		*v = 4;
		return SUCCESS;
	case 75: // compute capability, first number
		*v = faults.setting("capability", 80) / 10;
		return SUCCESS;
	case 76:
		*v = faults.setting("capability", 80) % 10;
		return SUCCESS;
	}
	return INVALID_VALUE;
}

API int cuDevicePrimaryCtxRetain(void **c, int) {
	Lock lock(device.mutex);
	device.users++;
	*c = &device;
	return SUCCESS;
}

// The real driver gives back what is still there; here that is an error, for tests to see.
API int cuDevicePrimaryCtxRelease_v2(int) {
	Lock lock(device.mutex);
	if (--device.users > 0) return SUCCESS;
	size_t left = device.memory.size() + device.pinned.size() + device.streams.size() + device.others.size();
	if (left == 0) return SUCCESS;
	fprintf(stderr, "emulated: a context is released with %zu allocations, %zu pinned, %zu streams, %zu events, modules and graphs\n", device.memory.size(),
		device.pinned.size(), device.streams.size(), device.others.size());
	return UNKNOWN;
}

API int cuDevicePrimaryCtxReset_v2(int) {
	Lock lock(device.mutex);
	device.wait_all(lock);
	while (!device.memory.empty()) device.release(device.memory.begin());
	for (auto p : device.pinned) free(p.first);
	device.pinned.clear(), device.streams.clear(), device.others.clear();
	device.broken = SUCCESS;
	return SUCCESS;
}

API int cuCtxSetCurrent(void *c) {
	current = c != nullptr;
	return SUCCESS;
}

API int cuCtxSynchronize() {
	IN_CONTEXT
	device.wait_all(lock);
	return device.broken;
}

API int cuMemGetInfo_v2(size_t *available, size_t *total) {
	IN_CONTEXT
	*total = total_memory();
	*available = *total > device.taken ? *total - device.taken : 0;
	return SUCCESS;
}

API int cuMemAlloc_v2(uint64_t *p, size_t n) {
	IN_CONTEXT
	if (n == 0) return INVALID_VALUE;
	if (faults.now("alloc") || n > total_memory() || device.taken + n > total_memory()) return OUT_OF_MEMORY;
	char *at = (char *)aligned_alloc(256, (n + guard + 255) / 256 * 256);
	if (!at) return OUT_OF_MEMORY;
	memset(at, 0xff, std::min(n, size_t(1 << 20))); // NaN: what reads it before it is written shows
	memset(at + n, 0x5a, guard);
	device.memory[at] = n;
	device.taken += n;
	*p = (uint64_t)at;
	return SUCCESS;
}

API int cuMemFree_v2(uint64_t p) {
	IN_CONTEXT
	auto m = device.memory.find((char *)p);
	if (m == device.memory.end()) return INVALID_VALUE;
	device.wait_all(lock);
	return device.release(m);
}

API int cuMemHostAlloc(void **p, size_t n, unsigned) {
	IN_CONTEXT
	if (faults.now("pin")) return OUT_OF_MEMORY;
	*p = malloc(n);
	device.pinned[(char *)*p] = n;
	return SUCCESS;
}

API int cuMemFreeHost(void *p) {
	IN_CONTEXT
	if (!device.pinned.erase((char *)p)) return INVALID_VALUE;
	device.wait_all(lock);
	free(p);
	return SUCCESS;
}

// The machine's memory, pinned or not, is read when the copy's turn comes, as by a GPU that shares the system's addresses.
API int cuMemcpyHtoDAsync_v2(uint64_t to, const void *from, size_t n, Stream *s) {
	IN_CONTEXT
	if (!device.streams.count(s)) return INVALID_HANDLE;
	if (s->keeps) return CAPTURE_UNSUPPORTED;
	if (!Device::holds(device.memory, (void *)to, n)) return INVALID_VALUE;
	device.put(s, [=] { return memcpy((void *)to, from, n), SUCCESS; });
	return SUCCESS;
}

API int cuMemcpyDtoHAsync_v2(void *to, uint64_t from, size_t n, Stream *s) {
	IN_CONTEXT
	if (!device.streams.count(s)) return INVALID_HANDLE;
	if (s->keeps) return CAPTURE_UNSUPPORTED;
	if (!Device::holds(device.memory, (void *)from, n)) return INVALID_VALUE;
	device.put(s, [=] { return memcpy(to, (void *)from, n), SUCCESS; });
	if (!Device::holds(device.pinned, to, n)) device.wait(lock, s);
	return device.broken;
}

API int cuStreamCreate(Stream **s, unsigned) {
	IN_CONTEXT
	*s = new Stream;
	device.streams.insert(*s);
	return SUCCESS;
}

API int cuStreamDestroy_v2(Stream *s) {
	IN_CONTEXT
	if (!device.streams.count(s)) return INVALID_HANDLE;
	device.wait(lock, s);
	device.streams.erase(s);
	delete s;
	return SUCCESS;
}

API int cuStreamQuery(Stream *s) {
	IN_CONTEXT
	return s->waiting > 0 ? NOT_READY : SUCCESS;
}

API int cuStreamSynchronize(Stream *s) {
	IN_CONTEXT
	if (!device.streams.count(s)) return INVALID_HANDLE;
	if (s->keeps) return CAPTURE_UNSUPPORTED;
	device.wait(lock, s);
	return device.broken;
}

API int cuEventCreate(Event **e, unsigned) {
	IN_CONTEXT
	device.others.insert(*e = new Event);
	return SUCCESS;
}

API int cuEventDestroy_v2(Event *e) {
	IN_CONTEXT
	if (!device.others.erase(e)) return INVALID_HANDLE;
	device.wait_all(lock);
	delete e;
	return SUCCESS;
}

API int cuEventRecord(Event *e, Stream *s) {
	IN_CONTEXT
	if (!device.streams.count(s) || !device.others.count(e)) return INVALID_HANDLE;
	e->recorded = true, e->passed = false;
	device.put(s, [e] {
		Lock lock(device.mutex);
		e->passed = true, e->at = Clock::now();
		return SUCCESS;
	});
	return SUCCESS;
}

API int cuEventSynchronize(Event *e) {
	IN_CONTEXT
	device.changed.wait(lock, [e] { return !e->recorded || e->passed || device.broken; });
	return device.broken;
}

API int cuEventElapsedTime(float *ms, Event *from, Event *to) {
	IN_CONTEXT
	if (!from->recorded || !to->recorded) return INVALID_HANDLE;
	if (!from->passed || !to->passed) return NOT_READY;
	*ms = std::chrono::duration<float, std::milli>(to->at - from->at).count();
	return SUCCESS;
}

API int cuModuleLoadData(Module **m, const char *ptx) {
	IN_CONTEXT
	std::string text(ptx);
	if (text.find(".version") == std::string::npos || text.find(".target sm_") == std::string::npos) return INVALID_PTX;
	*m = new Module;
	const std::string entry = ".entry ";
	for (size_t at = text.find(entry); at != std::string::npos; at = text.find(entry, at + 1))
		(*m)->entries.insert(text.substr(at + entry.size(), text.find_first_of("( \t\n", at + entry.size()) - at - entry.size()));
	device.others.insert(*m);
	return SUCCESS;
}

API int cuModuleUnload(Module *m) {
	IN_CONTEXT
	if (!device.others.erase(m)) return INVALID_HANDLE;
	device.wait_all(lock);
	delete m;
	return SUCCESS;
}

API int cuModuleGetFunction(const Function **f, Module *m, const char *name) {
	IN_CONTEXT
	auto found = functions.find(name);
	if (!m->entries.count(name) || found == functions.end()) return NOT_FOUND;
	*f = &found->second;
	return SUCCESS;
}

API int cuLaunchKernel(const Function *f, unsigned gx, unsigned gy, unsigned gz, unsigned bx, unsigned by, unsigned bz, unsigned shared, Stream *s, void **params, void **) {
	IN_CONTEXT
	if (!device.streams.count(s)) return INVALID_HANDLE;
	if (faults.now("launch")) return OUT_OF_RESOURCES;
	if (!gx || !gy || !gz || !bx || !by || !bz || gx > 0x7fffffff || gy > 65535 || gz > 65535 || bx > 1024 || by > 1024 || bz > 64 ||
	    bx * by * bz > most_threads || shared > dynamic_bytes)
		return INVALID_VALUE;
	bool lost = faults.now("lost");
	auto values = std::make_shared<std::vector<uint64_t>>();
	for (size_t i = 0; i < f->sizes.size(); i++) {
		values->push_back(0);
		memcpy(&values->back(), params[i], f->sizes[i]);
	}
	device.put(s, [=]() -> int {
		if (lost) return LAUNCH_FAILED;
		std::vector<void *> at;
		for (auto &v : *values) at.push_back(&v);
		run_grid({gx, gy, gz}, {bx, by, bz}, shared, [&] { f->call(at.data()); });
		return SUCCESS;
	});
	return SUCCESS;
}

API int cuStreamBeginCapture_v2(Stream *s, int) {
	IN_CONTEXT
	if (s->keeps) return INVALID_VALUE;
	s->keeps = true;
	return SUCCESS;
}

API int cuStreamEndCapture(Stream *s, Graph **g) {
	IN_CONTEXT
	if (!s->keeps) return CAPTURE_UNMATCHED;
	s->keeps = false;
	device.others.insert(*g = new Graph{std::move(s->kept)});
	s->kept.clear();
	return SUCCESS;
}

API int cuGraphInstantiateWithFlags(Graph **exec, Graph *g, unsigned long long) {
	IN_CONTEXT
	if (faults.now("graph")) return OUT_OF_MEMORY;
	device.others.insert(*exec = new Graph{*g});
	return SUCCESS;
}

API int cuGraphLaunch(Graph *exec, Stream *s) {
	IN_CONTEXT
	if (!device.others.count(exec) || !device.streams.count(s)) return INVALID_HANDLE;
	for (auto &w : exec->work) device.put(s, w);
	return SUCCESS;
}

API int cuGraphDestroy(Graph *g) {
	IN_CONTEXT
	if (!device.others.erase(g)) return INVALID_HANDLE;
	device.wait_all(lock);
	delete g;
	return SUCCESS;
}

API int cuGraphExecDestroy(Graph *g) { return cuGraphDestroy(g); }

static const std::map<int, std::pair<const char *, const char *>> errors = {
	{INVALID_VALUE, {"CUDA_ERROR_INVALID_VALUE", "invalid argument"}},
	{OUT_OF_MEMORY, {"CUDA_ERROR_OUT_OF_MEMORY", "out of memory"}},
	{NO_DEVICE, {"CUDA_ERROR_NO_DEVICE", "no CUDA-capable device is detected"}},
	{INVALID_CONTEXT, {"CUDA_ERROR_INVALID_CONTEXT", "invalid device context"}},
	{ILLEGAL_ADDRESS, {"CUDA_ERROR_ILLEGAL_ADDRESS", "an illegal memory access was encountered"}},
	{OUT_OF_RESOURCES, {"CUDA_ERROR_LAUNCH_OUT_OF_RESOURCES", "too many resources requested for launch"}},
	{LAUNCH_FAILED, {"CUDA_ERROR_LAUNCH_FAILED", "unspecified launch failure"}},
	{SYSTEM_MISMATCH, {"CUDA_ERROR_SYSTEM_DRIVER_MISMATCH", "system has unsupported display driver / cuda driver combination"}},
};

API int cuGetErrorName(int code, const char **name) {
	auto e = errors.find(code);
	*name = e == errors.end() ? nullptr : e->second.first;
	return *name ? SUCCESS : INVALID_VALUE;
}

API int cuGetErrorString(int code, const char **text) {
	auto e = errors.find(code);
	*text = e == errors.end() ? nullptr : e->second.second;
	return *text ? SUCCESS : INVALID_VALUE;
}

// cuBLAS, as far as it is called: CANCHA_CUBLAS may name this library too. Matrices have their columns one after another.
struct BLAS {
	Stream *stream;
};

API int cublasCreate_v2(BLAS **h) {
	Lock lock(device.mutex);
	if (!current || faults.now("blas")) return 1;
	*h = new BLAS{};
	return SUCCESS;
}
API int cublasDestroy_v2(BLAS *h) {
	delete h;
	return SUCCESS;
}
API int cublasSetStream_v2(BLAS *h, Stream *s) {
	h->stream = s;
	return SUCCESS;
}
API int cublasSetMathMode(BLAS *, int) { return SUCCESS; }
API int cublasSetWorkspace_v2(BLAS *, void *p, size_t n) {
	Lock lock(device.mutex);
	return Device::holds(device.memory, p, n) ? SUCCESS : 7;
}
API int cublasGetProperty(int which, int *v) {
	const int version[] = {12, 6, 4};
	*v = version[which];
	return SUCCESS;
}

API int cublasSgemm_v2(BLAS *h, int ta, int tb, int m, int n, int k, const float *alpha, const float *a, int lda, const float *b, int ldb, const float *beta, float *c, int ldc) {
	Lock lock(device.mutex);
	if (lda < (ta ? k : m) || ldb < (tb ? n : k) || ldc < m) return 7; // as the reference has it
	if (faults.now("multiply")) return 13;
	float al = *alpha, be = *beta;
	device.put(h->stream, [=] {
		for (int j = 0; j < n; j++)
			for (int i = 0; i < m; i++) {
				float sum = 0;
				for (int p = 0; p < k; p++) sum += (ta ? a[p + (size_t)i * lda] : a[i + (size_t)p * lda]) * (tb ? b[j + (size_t)p * ldb] : b[p + (size_t)j * ldb]);
				float &at = c[i + (size_t)j * ldc];
				at = be == 0 ? al * sum : al * sum + be * at;
			}
		return SUCCESS;
	});
	return SUCCESS;
}

// NVIDIA's management library, as far as it is asked: CANCHA_NVML may name this library too. One process uses the GPU.
static const char uuid[] = "GPU-43505520-656d-756c-6174-696f6e000001";

API int nvmlInit_v2() { return SUCCESS; }
API int nvmlShutdown() { return SUCCESS; }
API const char *nvmlErrorString(int r) { return r == 6 ? "Not Found" : "an error of the emulation"; }

API int nvmlDeviceGetHandleByUUID(const char *name, void **d) {
	*d = &device;
	return strcmp(name, uuid) ? 6 : SUCCESS;
}

struct Utilization {
	unsigned gpu, memory;
};
API int nvmlDeviceGetUtilizationRates(void *, Utilization *u) {
	*u = {50, 25};
	return SUCCESS;
}

struct MemoryInfo {
	unsigned long long total, free, used;
};
API int nvmlDeviceGetMemoryInfo(void *, MemoryInfo *m) {
	Lock lock(device.mutex);
	*m = {total_memory(), total_memory() - device.taken, device.taken};
	return SUCCESS;
}

// milliwatts; some GPUs do not tell
API int nvmlDeviceGetPowerUsage(void *, unsigned *power) {
	Lock lock(device.mutex);
	*power = 70000;
	return faults.setting("power", SUCCESS);
}

API int nvmlDeviceGetTemperature(void *, int, unsigned *celsius) {
	Lock lock(device.mutex);
	*celsius = 40;
	return faults.setting("temperature", SUCCESS);
}

struct Process {
	unsigned pid;
	unsigned long long memory;
	unsigned instance, part;
};
API int nvmlDeviceGetComputeRunningProcesses_v3(void *, unsigned *n, Process *all) {
	Lock lock(device.mutex);
	*n = 1;
	*all = {unsigned(getpid()), device.taken, ~0u, ~0u};
	return SUCCESS;
}
