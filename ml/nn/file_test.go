package nn

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"testing"

	"cancha/ml/modelfile"
)

// TestStoredNetworkAnswersTheSame, with its classes in their order, whether its columns are standardized or not.
func TestStoredNetworkAnswersTheSame(t *testing.T) {
	d := table(rand.New(rand.NewPCG(1, 2)), 50, 6, 3)
	d.Classes = []string{"home", "draw", "away"}
	for _, standardize := range []bool{false, true} {
		n := must(Fit(t.Context(), d, Config{Hidden: 9, Epochs: 2, Standardize: standardize}))
		path := filepath.Join(t.TempDir(), "models", "network.model")
		if err := n.Save(path); err != nil {
			t.Fatal(err)
		}
		got := must(Open(path))
		if !slices.EqualFunc(must(got.PredictProba(t.Context(), d)), must(n.PredictProba(t.Context(), d)), slices.Equal[[]float64]) {
			t.Errorf("standardized %v: another answer", standardize)
		}
		features, classes := got.Columns()
		if !slices.Equal(features, d.Features) || !slices.Equal(classes, d.Classes) || !slices.Equal(got.Losses, n.Losses) || got.Hidden() != 9 {
			t.Errorf("standardized %v: got %v, %v, %v", standardize, features, classes, got.Losses)
		}
	}
}

// TestDamagedFiles: a file that is not whole is no network, whichever byte is missing or changed.
func TestDamagedFiles(t *testing.T) {
	n := untrained(rand.New(rand.NewPCG(1, 2)), shape{2, 3, 2})
	path := filepath.Join(t.TempDir(), "network.model")
	if err := n.Save(path); err != nil {
		t.Fatal(err)
	}
	whole := must(os.ReadFile(path))
	for i := range whole {
		changed := slices.Clone(whole)
		changed[i] ^= 0x10
		for name, data := range map[string][]byte{"cut short": whole[:i], "changed": changed} {
			if err := os.WriteFile(path, data, 0o600); err != nil {
				t.Fatal(err)
			}
			if _, err := Open(path); err == nil {
				t.Fatalf("%s at byte %d: no error", name, i)
			}
		}
	}
	if _, err := Open(filepath.Join(t.TempDir(), "none")); !errors.Is(err, os.ErrNotExist) {
		t.Errorf("no file: got %v", err)
	}
	other := &modelfile.File{Kind: "lwp", Version: 1}
	if err := other.Save(path); err != nil {
		t.Fatal(err)
	}
	if _, err := Open(path); !errors.Is(err, modelfile.ErrKind) {
		t.Errorf("another kind: got %v", err)
	}
}

// TestLoadRefusesWhatDoesNotFit: a whole file may hold what is no network.
func TestLoadRefusesWhatDoesNotFit(t *testing.T) {
	for name, change := range map[string]func(m *fileMeta, params, mean, factor *[]float32){
		"as it was":         func(*fileMeta, *[]float32, *[]float32, *[]float32) {},
		"no features":       func(m *fileMeta, _, _, _ *[]float32) { m.Features = nil },
		"one class":         func(m *fileMeta, _, _, _ *[]float32) { m.Classes = m.Classes[:1] },
		"one name twice":    func(m *fileMeta, _, _, _ *[]float32) { m.Features = []string{"a", "a"} },
		"no hidden units":   func(m *fileMeta, _, _, _ *[]float32) { m.Hidden = 0 },
		"hidden below 0":    func(m *fileMeta, _, _, _ *[]float32) { m.Hidden = -3 },
		"hidden huge":       func(m *fileMeta, _, _, _ *[]float32) { m.Hidden = math.MaxInt },
		"parameter missing": func(_ *fileMeta, p, _, _ *[]float32) { *p = (*p)[1:] },
		"parameter NaN":     func(_ *fileMeta, p, _, _ *[]float32) { (*p)[5] = float32(math.NaN()) },
		"parameter too big": func(_ *fileMeta, p, _, _ *[]float32) { (*p)[0] = float32(math.Inf(1)) },
		"mean missing":      func(_ *fileMeta, _, m, _ *[]float32) { *m = nil },
		"factor missing":    func(_ *fileMeta, _, _, f *[]float32) { *f = (*f)[1:] },
		"both too short":    func(_ *fileMeta, _, m, f *[]float32) { *m, *f = (*m)[1:], (*f)[1:] },
	} {
		t.Run(name, func(t *testing.T) {
			n := untrained(rand.New(rand.NewPCG(1, 2)), shape{2, 3, 2})
			meta := fileMeta{Features: n.Features, Classes: n.Classes, Hidden: 3}
			params, mean, factor := n.params, []float32{0, 0}, []float32{1, 1}
			change(&meta, &params, &mean, &factor)
			f := &modelfile.File{Kind: fileKind, Version: 1}
			f.SetFloat32("n.params", params)
			f.SetFloat32("n.mean", mean)
			f.SetFloat32("n.factor", factor)
			if err := f.SetMeta("n", meta); err != nil {
				t.Fatal(err)
			}
			switch _, err := Load(f, "n"); {
			case name == "as it was" && err != nil:
				t.Error(err)
			case name != "as it was" && !errors.Is(err, modelfile.ErrDamaged):
				t.Errorf("got %v", err)
			}
		})
	}
	if _, err := Load(&modelfile.File{}, "n"); !errors.Is(err, modelfile.ErrDamaged) {
		t.Errorf("an empty file: got %v", err)
	}
}

// names are n names, no two the same.
func names(n int) (all []string) {
	for i := range n {
		all = append(all, fmt.Sprint(i))
	}
	return all
}

// FuzzLoad puts foreign numbers where a network's are: what is accepted must answer.
func FuzzLoad(f *testing.F) {
	f.Add(2, 2, 3, 0, 17, float32(1))
	f.Add(1, 2, 1, 1, 6, float32(-1e38))
	f.Fuzz(func(t *testing.T, features, classes, hidden, means, params int, value float32) {
		if max(features, classes, means, params) > 1000 || min(features, classes, means, params) < 0 {
			t.Skip()
		}
		file, array := &modelfile.File{Kind: fileKind, Version: 1}, make([]float32, params)
		for i := range array {
			array[i] = value * float32(i)
		}
		file.SetFloat32("n.params", array)
		file.SetFloat32("n.mean", make([]float32, means))
		file.SetFloat32("n.factor", make([]float32, means))
		if err := file.SetMeta("n", fileMeta{Features: names(features), Classes: names(classes), Hidden: hidden}); err != nil {
			t.Fatal(err)
		}
		n, err := Load(file, "n")
		if err != nil {
			return
		}
		n.ProbaTo(make([]float64, classes), make([]float32, features))
	})
}
