package spark

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"cancha/stream"
)

// TestLiveFileOfSettings: a real server tells which settings a session can have, takes these, and has its own of the rest; a query's notes say so.
func TestLiveFileOfSettings(t *testing.T) {
	own(t)
	file := filepath.Join(t.TempDir(), "spark-defaults.conf")
	if err := os.WriteFile(file, []byte(`spark.sql.shuffle.partitions 3
spark.sql.warehouse.dir /elsewhere
spark.rapids.sql.enabled true
spark.executor.memory 9g
spark.task.resource.gpu.amount 0.5
spark.sql.session.timeZone Europe/Madrid
`), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("CANCHA_CONF", file)
	s, err := Connect(t.Context(), master(t))
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	for key, want := range map[string]string{"spark.sql.shuffle.partitions": "3", "spark.rapids.sql.enabled": "true", timeZone: "UTC"} {
		if got, _, err := s.Get(t.Context(), key); got != want || err != nil {
			t.Errorf("%s is %q, %v, want %q", key, got, err, want)
		}
	}
	const executors = "spark.executor.memory 9g ("
	for _, want := range []string{"spark.sql.warehouse.dir /elsewhere (", executors, "spark.task.resource.gpu.amount 0.5 (not set there)"} {
		if notes := strings.Join(s.Notes(), " "); !strings.Contains(notes, want) || strings.Contains(notes, "shuffle") {
			t.Errorf("notes %q, want %q in them", notes, want)
		}
	}
	e, err := Engine(t.Context(), master(t))
	if err != nil {
		t.Fatal(err)
	}
	r, err := byMinute(bought(t, brokers(t))).Output(stream.Update).AvailableNow().On(e).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	if err := r.Wait(t.Context()); err != nil {
		t.Fatal(err)
	}
	if !slices.ContainsFunc(r.Notes(), func(note string) bool { return strings.Contains(note, executors) }) {
		t.Errorf("the query's notes are %q", r.Notes())
	}
}
