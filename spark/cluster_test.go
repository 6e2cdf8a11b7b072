package spark

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/stream"
)

// killer kills the first worker of the cluster that scripts/spark.sh with-cluster has started, and its executor, with -9: once, when it is told to.
type killer struct {
	t      *testing.T
	script string
	once   sync.Once
	done   sync.WaitGroup
	killed bool // after done
}

func newKiller(t *testing.T) *killer {
	t.Helper()
	k := &killer{t: t, script: os.Getenv("CANCHA_SPARK_SH")}
	if os.Getenv("CANCHA_SPARK_CLUSTER") == "" || k.script == "" {
		t.Skip("CANCHA_SPARK_CLUSTER has no number of workers: scripts/spark.sh with-cluster go test -run TestCluster ./spark")
	}
	t.Cleanup(func() {
		if k.done.Wait(); k.killed {
			k.call("start-worker")
		}
	})
	return k
}

func (k *killer) call(what string) {
	if text, err := exec.Command(k.script, what, "1").CombinedOutput(); err != nil {
		k.t.Errorf("%s %s 1: %v %s", k.script, what, err, text)
	}
}

func (k *killer) kill() {
	k.once.Do(func() { k.done.Go(func() { k.call("kill-worker"); k.killed = true }) })
}

// told is a function for Config.Progress that kills when so many tasks are done, and keeps what has told of the most tasks that were run again.
func (k *killer) told(after int64) (most *Stages, tell func(Stages)) {
	most = new(Stages)
	return most, func(p Stages) {
		if p.Retried() >= most.Retried() {
			*most = p
		}
		if done, _ := p.Tasks(); done >= after {
			k.kill()
		}
	}
}

// check wants that a worker was killed, and that this can be seen.
func (k *killer) check(most *Stages) {
	k.t.Helper()
	if k.done.Wait(); !k.killed {
		k.t.Error("no worker was killed: it was over before")
	}
	if most.Retried() == 0 || !strings.Contains(most.String(), "run again") {
		k.t.Errorf("a worker was killed, and what is told is %v", *most)
	}
	k.t.Log(*most)
}

// TestClusterQuery: a worker is killed in the middle of a query. The query ends with the right rows, and it is told that tasks were run again.
func TestClusterQuery(t *testing.T) {
	k := newKiller(t)
	most, tell := k.told(3)
	s := liveSession(t, Config{Progress: tell})
	const rows, times = 160_000, 1000
	d, err := s.SQL(t.Context(), fmt.Sprintf(`SELECT id %% 5 AS k, count(*) AS n, sum(aggregate(sequence(1L, %dL), 0L, (a, x) -> a + (x ^ id) %% 7)) AS total
		FROM range(0, %d, 1, 16) GROUP BY k ORDER BY k`, times, rows))
	if err != nil {
		t.Fatal(err)
	}
	got, err := d.Collect(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	var want [5]int64
	for id := range int64(rows) {
		for x := range int64(times) {
			want[id%5] += ((x + 1) ^ id) % 7
		}
	}
	for i, w := range want {
		if got.Value(i, "n") != int64(rows/5) || got.Value(i, "total") != w {
			t.Errorf("row %d has %v and %v, want %d and %d", i, got.Value(i, "n"), got.Value(i, "total"), rows/5, w)
		}
	}
	k.check(most)
}

// TestClusterFit: a worker is killed in the middle of a fit. The forest is the one that is grown without that.
func TestClusterFit(t *testing.T) {
	k := newKiller(t)
	var scores []float64
	most, tell := k.told(12)
	for _, c := range []Config{{}, {Progress: tell}} {
		s := liveSession(t, c)
		shots, err := s.SQL(t.Context(), `SELECT *, x + y + 20 * z > 120 AS goal FROM
			(SELECT rand(1) * 120 AS x, rand(2) * 80 AS y, rand(3) AS z FROM range(0, 40000, 1, 8))`)
		if err != nil {
			t.Fatal(err)
		}
		begin := time.Now()
		m, err := s.FitForest(t.Context(), shots, ml.Roles{Label: "goal"}, forest.Config{Trees: 20, MaxDepth: 6, Seed: 1})
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("fitted in %v", time.Since(begin).Round(time.Millisecond))
		sum, err := m.Transform(shots).GroupBy().Agg("sum(probability[0]) AS p", "sum(probability[0] * x) AS px").Collect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		for _, name := range []string{"p", "px"} {
			scores = append(scores, sum.Value(0, name).(float64))
		}
	}
	k.check(most)
	for i := range 2 {
		if a, b := scores[i], scores[i+2]; (a-b)/a > 1e-9 || (b-a)/a > 1e-9 {
			t.Errorf("the forest of an undisturbed fit gives %v, the other %v", a, b)
		}
	}
}

// TestClusterStream: a worker is killed in the middle of a streaming query of package stream, with state. Its rows are those of the local engine.
func TestClusterStream(t *testing.T) {
	k := newKiller(t)
	e := liveEngine(t, Config{BatchRecords: 100})
	topic := bought(t, brokers(t))
	q := byMinute(topic).Output(stream.Update).AvailableNow()
	here, err := q.Master("local[*]").Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	sink := onRows(k.kill)
	there, err := q.To(sink).On(e).Start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range []*stream.Running{here, there} {
		if err := r.Wait(t.Context()); err != nil {
			t.Fatal(err)
		}
	}
	if k.done.Wait(); !k.killed {
		t.Error("no worker was killed: it was over before")
	}
	local, spark := printed(here.Results()), printed(there.Results())
	if !slices.Equal(local, spark) || len(spark) != 90 {
		t.Errorf("%d rows here, %d on Spark\n%s\n%s", len(local), len(spark), strings.Join(local, "\n"), strings.Join(spark, "\n"))
	}
}

// onRows is a sink that calls when it is given rows.
type onRows func()

// Write implements stream.Sink.
func (f onRows) Write(context.Context, int64, *stream.Rows) error { f(); return nil }
