package spark

import (
	"context"
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"reflect"
	"slices"
	"testing"
	"time"

	"cancha/ml"
	"cancha/ml/forest"
	"cancha/runtime/table"
)

// meadow is rows of three classes and a number that follow from three columns, with weights if that is said, and digits that float32 does not have.
func meadow(t *testing.T, rows int, weights bool) *ml.Dataset {
	t.Helper()
	r := rand.New(rand.NewPCG(1, 2))
	var values [][]float64
	var labels []int
	var targets, w []float64
	for range rows {
		x, y, z := r.Float64()*120, 1_700_000_000+math.Floor(r.Float64()*1000), float64(r.IntN(7))
		score := x + (y-1_700_000_000)/10 + 5*z + r.NormFloat64()*10
		label := min(2, max(0, int(score/70)))
		values, labels, targets, w = append(values, []float64{x, y, z}), append(labels, label), append(targets, score), append(w, float64(r.IntN(4)))
	}
	d, err := ml.FromRows([]string{"X", "x", "a `b`.c"}, values)
	if err != nil {
		t.Fatal(err)
	}
	d.Classes, d.Labels, d.Targets = []string{"far", "it's near", "at", "never"}, labels, targets
	if weights {
		d.Weights = w
	}
	return d
}

// TestLiveTrainer: a forest that the cluster has grown answers here as it does there, to 1e-12 on 20,000 rows; the folder of its way is gone.
func TestLiveTrainer(t *testing.T) {
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	s := liveSession(t, Config{Folder: folder})
	for name, weights := range map[string]bool{"plain": false, "weighted": true} {
		d := meadow(t, 20_000, weights)
		c := forest.Config{Trees: 10, MaxDepth: 10, MinSamplesLeaf: 2, Seed: 3}
		begin := time.Now()
		m, err := s.fitDataset(t.Context(), d, c, true)
		if err != nil {
			t.Fatal(err)
		}
		fitted := time.Since(begin)
		here, err := m.Classifier(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		t.Logf("%s: grown in %v, here after %v more, %d nodes", name, fitted.Round(time.Millisecond), (time.Since(begin) - fitted).Round(time.Millisecond), here.Nodes())
		there, err := s.send(t.Context(), d, true)
		if err != nil {
			t.Fatal(err)
		}
		rows, err := m.Transform(there).Collect(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		probas, err := here.PredictProba(t.Context(), again(t, m, rows))
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range probas {
			want := numbers(rows.Value(i, "probability")) // also of the class that no row has, which Spark does not know of
			if !close12(got, want) {
				t.Fatalf("%s: row %d: %v here, %v there", name, i, got, want)
			}
		}
		n, err := s.fitDataset(t.Context(), d, forest.Config{Trees: 5, MaxDepth: 8}, false)
		if err != nil {
			t.Fatal(err)
		}
		number, err := n.Regressor(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		if rows, err = n.Transform(there).Collect(t.Context()); err != nil {
			t.Fatal(err)
		}
		answers, err := number.Predict(t.Context(), again(t, m, rows))
		if err != nil {
			t.Fatal(err)
		}
		for i, got := range answers {
			if want := rows.Value(i, "prediction").(float64); !close12([]float64{got / 100}, []float64{want / 100}) {
				t.Fatalf("%s: row %d: %v here, %v there", name, i, got, want)
			}
		}
		t.Logf("%s: %d rows alike", name, rows.Len())
	}
	if left, err := os.ReadDir(folder); len(left) != 0 || err != nil {
		t.Errorf("%d folders are left, %v, want none", len(left), err)
	}
}

// again is the features that came back from the server.
func again(t *testing.T, m *Model, rows *table.Table) *ml.Dataset {
	t.Helper()
	var columns [][]float64
	for k := range m.Features {
		c, err := rows.Column(featureColumn(k))
		if err != nil {
			t.Fatal(err)
		}
		columns = append(columns, c)
	}
	values := make([][]float64, rows.Len())
	for i := range values {
		for _, c := range columns {
			values[i] = append(values[i], c[i])
		}
	}
	out, err := ml.FromRows(m.Features, values)
	if err != nil {
		t.Fatal(err)
	}
	return out
}

// numbers is an array as it came.
func numbers(v any) (all []float64) {
	for _, x := range v.([]any) {
		all = append(all, x.(float64))
	}
	return all
}

func close12(got, want []float64) bool {
	return slices.EqualFunc(got, want, func(a, b float64) bool { return math.Abs(a-b) <= 1e-12 })
}

// TestLiveTrainerFits: forest.FitClassifier and ml.CrossValidate work by a Trainer as without one, a lost session or an interrupt leaves nothing on the server, and
// what Spark cannot do is told before anything starts.
func TestLiveTrainerFits(t *testing.T) {
	s := liveSession(t, Config{})
	folder := t.TempDir()
	if err := os.Chmod(folder, 0o777); err != nil {
		t.Fatal(err)
	}
	trainer, err := Config{Master: master(t), Folder: folder}.Trainer(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	d := meadow(t, 6000, false)
	var done, total int
	c := forest.Config{Trees: 10, MaxDepth: 8, Seed: 3, Trainer: trainer, Progress: func(d, t int) { done, total = d, t }}
	f, err := forest.FitClassifier(t.Context(), d, c)
	if err != nil {
		t.Fatal(err)
	}
	if accuracy, err := f.Score(t.Context(), d); err != nil || accuracy < 0.7 || fmt.Sprintf("%q", f.Classes) != fmt.Sprintf("%q", d.Classes) {
		t.Errorf("accuracy %v, %v, classes %q", accuracy, err, f.Classes)
	}
	t.Logf("%s: %d of %d tasks were told", trainer, done, total)
	same, err := forest.FitClassifier(t.Context(), d, c)
	if err != nil {
		t.Fatal(err)
	}
	if !reflect.DeepEqual(same.Trees(), f.Trees()) {
		t.Error("the same rows, settings and seed gave another forest")
	}
	folds, err := ml.StratifiedKFold(d, 3, 1)
	if err != nil {
		t.Fatal(err)
	}
	c.Progress = nil
	scores, err := ml.CrossValidate(t.Context(), d, folds, func(ctx context.Context, train *ml.Dataset) (ml.Model, error) {
		return forest.FitClassifier(ctx, train, c)
	}, ml.Accuracy, ml.NegLogLoss)
	if err != nil || scores.Scores[0].Mean < 0.7 || len(scores.FitTime) != 3 {
		t.Errorf("cross-validation: %v, %v", scores, err)
	}
	t.Log(scores)

	ctx, cancel := context.WithCancelCause(t.Context())
	stop := errors.New("enough")
	large := c
	large.Trees, large.MaxDepth, large.Progress = 300, 20, func(int, int) { cancel(stop) } // the first that is told of its tasks
	begin := time.Now()
	if _, err := forest.FitClassifier(ctx, d, large); !errors.Is(err, stop) && !errors.Is(err, context.Canceled) {
		t.Errorf("a fit that was interrupted: %v", err)
	}
	t.Logf("interrupted after %v", time.Since(begin).Round(time.Millisecond))
	if n, err := s.Interrupt(t.Context()); n != 0 || err != nil {
		t.Errorf("%d operations are left, %v", n, err)
	}
	if left, err := os.ReadDir(folder); len(left) != 0 || err != nil {
		t.Errorf("%d folders are left, %v, want none", len(left), err)
	}
	d.Values[4], d.Exact[4], d.Missing = float32(math.NaN()), math.NaN(), true
	if _, err := forest.FitClassifier(t.Context(), d, c); err == nil {
		t.Error("a missing value was sent")
	}
}
