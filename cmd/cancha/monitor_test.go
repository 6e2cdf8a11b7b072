//go:build !windows

package main

import (
	"fmt"
	"io"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"cancha/jobs"
	"cancha/jobs/report"
	"cancha/jobs/scheduler"
)

// site is a scheduler with a worker.
func site(t *testing.T, folder string) *jobs.Cluster {
	t.Helper()
	k, err := jobs.Open(t.Context(), jobs.Config{Folder: folder})
	if err != nil {
		t.Fatal(err)
	}
	return k
}

// finish has so many jobs end. A result comes beside the commit that puts it down, whose end nobody tells: it is looked for.
func finish(t *testing.T, k *jobs.Cluster, name string, n int) {
	t.Helper()
	for i := range n {
		ids, err := k.Submit(t.Context(), jobs.Spec{ID: fmt.Sprintf("%s%d", name, i), Type: jobs.VectorAddition, Parameters: jobs.Parameters{"size": 10}.JSON()})
		if err != nil {
			t.Fatal(err)
		}
		if _, err := k.Wait(t.Context(), ids[0]); err != nil {
			t.Fatal(err)
		}
		for !putDown(t, k, ids[0]) {
			time.Sleep(time.Millisecond)
		}
	}
}

// putDown tells whether the store knows that a job has ended.
func putDown(t *testing.T, k *jobs.Cluster, id string) bool {
	t.Helper()
	e, err := k.Endings(t.Context(), 0, 1000)
	if err != nil {
		t.Fatal(err)
	}
	return slices.ContainsFunc(e.All, func(one scheduler.Ending) bool { return one.ID == id })
}

// watched follows until so many new results have come, and returns the ids in the file.
func watched(t *testing.T, k *jobs.Cluster, o monitorOptions, meanwhile func()) string {
	t.Helper()
	var said strings.Builder
	m := &jobMonitor{options: o, screen: screen{out: io.Discard}, log: &said}
	var err error
	if m.journal, err = report.OpenJournal(o.out, func(r *report.Record) { m.measures.Add(r) }); err != nil {
		t.Fatal(err)
	}
	if err := m.begin(t.Context(), k); err != nil {
		t.Fatal(err)
	}
	meanwhile()
	for !m.full() {
		more, err := m.step(t.Context(), k)
		if err != nil {
			t.Fatal(err)
		}
		if !more && !m.full() {
			t.Fatalf("%d of %d have come, and no more do; %s", m.taken, o.most, said.String())
		}
	}
	if err := m.journal.Close(); err != nil {
		t.Fatal(err)
	}
	f, err := report.ReadFile(o.out)
	if err != nil {
		t.Fatal(err)
	}
	var ids []string
	for _, r := range f.Records {
		ids = append(ids, r.ID)
	}
	return strings.Join(ids, " ")
}

// The file of a monitor has each result once: those from when it began, those that ended while it was away, and, where the scheduler's store is another one,
// all of that.
func TestMonitor(t *testing.T) {
	folder, file := t.TempDir(), filepath.Join(t.TempDir(), "results.jsonl")
	k := site(t, folder)
	finish(t, k, "before", 1)
	if got := watched(t, k, monitorOptions{out: file, most: 2}, func() { finish(t, k, "a", 2) }); got != "a0 a1" {
		t.Errorf("got %s", got)
	}
	finish(t, k, "b", 2)
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k = site(t, folder)
	if got := watched(t, k, monitorOptions{out: file, most: 3}, func() { finish(t, k, "c", 1) }); got != "a0 a1 b0 b1 c0" {
		t.Errorf("after a restart: got %s", got)
	}
	if got := watched(t, k, monitorOptions{out: file, most: 1, all: true}, func() {}); got != "a0 a1 b0 b1 c0 before0" {
		t.Errorf("all: got %s", got)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
	k = site(t, t.TempDir()) // with more events than the first one's
	finish(t, k, "other", 9)
	if got := watched(t, k, monitorOptions{out: file, most: 9}, func() {}); !strings.HasPrefix(got, "a0 a1 b0 b1 c0 before0 other0 other1 ") || !strings.HasSuffix(got, " other8") {
		t.Errorf("another store: got %s", got)
	}
	if err := k.Close(); err != nil {
		t.Fatal(err)
	}
}

// What a monitor and a report cannot do they say.
func TestMonitorRefuses(t *testing.T) {
	for args, want := range map[string]string{"monitor -n -1": "both are from 0", "report": "0 files", "report a b": "2 files", "report none.jsonl": "no such file"} {
		code, _, stderr := outcome(t, t.TempDir(), strings.Fields(args)...)
		if code == 0 || !strings.Contains(stderr, want) {
			t.Errorf("%s: got %d and %s", args, code, stderr)
		}
	}
}

// On a terminal statistics stand in one place.
func TestScreen(t *testing.T) {
	var out strings.Builder
	s, m := screen{out: &out, live: true}, &report.Measures{}
	for range 2 {
		if err := s.last(m); err != nil {
			t.Fatal(err)
		}
	}
	if got, want := out.String(), "\x1b[?7lno job has ended yet\n\x1b[?7h\x1b[1F\x1b[J\x1b[?7lno job has ended yet\n\x1b[?7h"; got != want {
		t.Errorf("got %q, want %q", got, want)
	}
}
