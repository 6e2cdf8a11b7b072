// The device: one thread that does what streams are given, in the order in which it comes, and the memory. All under one lock.

#pragma once

#include <chrono>
#include <condition_variable>
#include <cstdio>
#include <cstdlib>
#include <deque>
#include <map>
#include <memory>
#include <mutex>
#include <regex>
#include <set>
#include <string>
#include <thread>
#include <utility>
#include <vector>

namespace emulation {

enum {
	SUCCESS = 0, INVALID_VALUE = 1, OUT_OF_MEMORY = 2, NOT_INITIALIZED = 3, NO_DEVICE = 100, INVALID_DEVICE = 101, INVALID_CONTEXT = 201, INVALID_PTX = 218,
	INVALID_HANDLE = 400, NOT_FOUND = 500, NOT_READY = 600, ILLEGAL_ADDRESS = 700, OUT_OF_RESOURCES = 701, LAUNCH_FAILED = 719,
	CAPTURE_UNSUPPORTED = 900, CAPTURE_UNMATCHED = 903, SYSTEM_MISMATCH = 803, UNKNOWN = 999
};

using Work = std::function<int()>;
using Clock = std::chrono::steady_clock;

struct Stream {
	long waiting = 0;         // pieces of work that have not been done
	bool keeps = false;       // for a graph
	std::vector<Work> kept;
};

struct Event {
	bool recorded = false, passed = false;
	Clock::time_point at;
};

const size_t guard = 64; // bytes behind an allocation that nobody may write to

struct Device {
	std::mutex mutex;
	std::condition_variable changed;
	std::deque<std::pair<Stream *, Work>> queue;
	long given = 0, done = 0; // pieces of work, of all streams
	std::map<char *, size_t> memory, pinned;
	std::set<Stream *> streams;
	std::set<void *> others; // events, modules, graphs
	size_t taken = 0;
	int broken = SUCCESS; // what all calls return until the context is reset
	int users = 0;        // of the context
	bool started = false;

	void work() {
		std::unique_lock<std::mutex> lock(mutex);
		for (;;) {
			changed.wait(lock, [this] { return !queue.empty(); });
			auto next = queue.front();
			queue.pop_front();
			if (broken == SUCCESS) {
				lock.unlock();
				int code = next.second();
				lock.lock();
				if (code != SUCCESS && broken == SUCCESS) broken = code;
			}
			next.first->waiting--;
			done++;
			changed.notify_all();
		}
	}

	// put queues work, or keeps it for a graph. The lock is held.
	void put(Stream *s, Work w) {
		if (s->keeps) {
			s->kept.push_back(w);
			return;
		}
		if (!started) std::thread(&Device::work, this).detach(), started = true;
		s->waiting++;
		given++;
		queue.emplace_back(s, w);
		changed.notify_all();
	}

	void wait(std::unique_lock<std::mutex> &lock, Stream *s) {
		changed.wait(lock, [s] { return s->waiting == 0; });
	}

	// wait_all waits for what all streams were given so far. It looks at none of them: another thread may destroy one meanwhile.
	void wait_all(std::unique_lock<std::mutex> &lock) {
		long all = given;
		changed.wait(lock, [this, all] { return done >= all; });
	}

	// holds tells whether an allocation has all of a range.
	static bool holds(const std::map<char *, size_t> &all, const void *p, size_t n) {
		auto next = all.upper_bound((char *)p);
		if (next == all.begin()) return false;
		--next;
		return (char *)p + n <= next->first + next->second;
	}

	// release frees an allocation, and tells whether somebody has written behind it.
	int release(std::map<char *, size_t>::iterator m) {
		bool whole = true;
		for (size_t i = 0; i < guard; i++) whole &= m->first[m->second + i] == 0x5a;
		taken -= m->second;
		free(m->first);
		memory.erase(m);
		if (whole) return SUCCESS;
		fprintf(stderr, "emulated: something was written behind an allocation\n");
		return broken = ILLEGAL_ADDRESS;
	}
};

// It is never destroyed: its thread goes on until the process ends.
static Device &device = *new Device;

// Faults that CANCHA_EMULATE asks for, as in "alloc=3,memory=1000000": the third allocation fails, and there are 1000000 bytes. Counting
// begins anew when the variable changes. The lock is held.
struct Faults {
	std::string text;
	std::map<std::string, long> wanted, seen;

	void read() {
		const char *now = getenv("CANCHA_EMULATE");
		if (text == (now ? now : "")) return;
		text = now ? now : "";
		wanted.clear(), seen.clear();
		std::regex each("(\\w+)=(\\d+)");
		for (std::sregex_iterator i(text.begin(), text.end(), each), end; i != end; ++i) wanted[(*i)[1]] = std::stol((*i)[2]);
	}

	// now tells whether this time, of those that something is done, it is to fail.
	bool now(const char *name) {
		read();
		auto w = wanted.find(name);
		return w != wanted.end() && ++seen[name] == w->second;
	}

	long setting(const char *name, long otherwise) {
		read();
		auto w = wanted.find(name);
		return w == wanted.end() ? otherwise : w->second;
	}
};
static Faults faults;

} // namespace emulation
