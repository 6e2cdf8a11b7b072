package ml

import (
	"encoding/json"
	"os"
	"slices"
	"strings"
	"testing"
	"time"
)

// sklearnFolds is testdata/folds.json, which testdata/folds.py wrote with scikit-learn 1.9.1.
type sklearnFolds struct {
	K      int
	X      [][]float64
	Labels []int
	Groups []int64
	Folds  map[string][][]int
}

func readFolds(t *testing.T) (*Dataset, sklearnFolds) {
	t.Helper()
	text, err := os.ReadFile("testdata/folds.json")
	if err != nil {
		t.Fatal(err)
	}
	var f sklearnFolds
	if err := json.Unmarshal(text, &f); err != nil {
		t.Fatal(err)
	}
	d, err := FromRows([]string{"a", "b", "c"}, f.X)
	if err != nil {
		t.Fatal(err)
	}
	d.Labels, d.Classes = f.Labels, []string{"x", "y", "z"}
	return d, f
}

func TestFoldsAgainstSklearn(t *testing.T) {
	d, want := readFolds(t)
	grouped := *d
	grouped.Groups = want.Groups
	for name, make := range map[string]func() ([]Split, error){
		"KFold":                func() ([]Split, error) { return KFold(d, want.K, 0) },
		"GroupKFold":           func() ([]Split, error) { return KFold(&grouped, want.K, 0) },
		"StratifiedKFold":      func() ([]Split, error) { return StratifiedKFold(d, want.K, 0) },
		"StratifiedGroupKFold": func() ([]Split, error) { return StratifiedKFold(&grouped, want.K, 0) },
		"TimeSeriesSplit":      func() ([]Split, error) { return ForwardFolds(d, want.K, nil) },
	} {
		splits, err := make()
		if err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got [][]int
		for _, s := range splits {
			got = append(got, s.Test)
		}
		if !slices.EqualFunc(got, want.Folds[name], slices.Equal[[]int]) {
			t.Errorf("%s: got %v, want %v", name, got, want.Folds[name])
		}
	}
}

// TestFoldsAreParts: with any seed, each row is tested on once, its group is on one side, and a seed always gives the same.
func TestFoldsAreParts(t *testing.T) {
	d, want := readFolds(t)
	grouped := *d
	grouped.Groups = want.Groups
	for _, d := range []*Dataset{d, &grouped} {
		for name, make := range map[string]func(*Dataset, int, uint64) ([]Split, error){"KFold": KFold, "StratifiedKFold": StratifiedKFold} {
			plain, _ := make(d, 5, 0)
			shuffled, err := make(d, 5, 3)
			if err != nil {
				t.Fatal(err)
			}
			if again, _ := make(d, 5, 3); !slices.EqualFunc(shuffled, again, same) || slices.EqualFunc(shuffled, plain, same) {
				t.Errorf("%s: the seed decides nothing, or not alone", name)
			}
			var rows []int
			for _, s := range shuffled {
				rows = append(rows, s.Test...)
				if err := s.check(d); err != nil || len(s.Train)+len(s.Test) != d.Rows() || !slices.IsSorted(s.Train) {
					t.Errorf("%s: %v", name, err)
				}
			}
			if slices.Sort(rows); !slices.Equal(rows, permutation(d.Rows(), 0)) {
				t.Errorf("%s: the folds hold rows %v", name, rows)
			}
		}
	}
}

func same(a, b Split) bool { return slices.Equal(a.Train, b.Train) && slices.Equal(a.Test, b.Test) }

// TestForwardFolds: by time, whatever the order of the rows, and groups of one day on one side.
func TestForwardFolds(t *testing.T) {
	d := &Dataset{Features: []string{"x"}, Values: make([]float32, 12), Groups: []int64{5, 5, 4, 4, 3, 3, 2, 2, 1, 1, 0, 0}}
	day := func(group int64) time.Time { return time.Unix(86400*group, 0) }
	got, err := ForwardFolds(d, 2, day)
	want := []Split{{[]int{8, 9, 10, 11}, []int{4, 5, 6, 7}}, {[]int{4, 5, 6, 7, 8, 9, 10, 11}, []int{0, 1, 2, 3}}}
	if err != nil || !slices.EqualFunc(got, want, same) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	twoADay := func(group int64) time.Time { return day(group / 2) }
	got, err = ForwardFolds(d, 1, twoADay)
	if want := []Split{{[]int{8, 9, 10, 11}, []int{0, 1, 2, 3, 4, 5, 6, 7}}}; err != nil || !slices.EqualFunc(got, want, same) {
		t.Errorf("two groups a day: got %v, %v, want %v", got, err, want)
	}
	if _, err := ForwardFolds(d, 3, twoADay); err == nil || !strings.Contains(err.Error(), "too many groups are of the time") {
		t.Errorf("more folds than days: got %v", err)
	}
}

func TestFoldsRefuse(t *testing.T) {
	d, _ := readFolds(t)
	unlabelled, few := *d, d.Slice(0, 3)
	unlabelled.Labels = nil
	few.Labels = []int{0, 1, 2}
	one := *few
	one.Groups = []int64{7, 7, 7}
	for name, f := range map[string]func() ([]Split, error){
		"one fold":                 func() ([]Split, error) { return KFold(d, 1, 0) },
		"more folds than rows":     func() ([]Split, error) { return KFold(few, 4, 0) },
		"more folds than groups":   func() ([]Split, error) { return KFold(&one, 2, 0) },
		"no labels":                func() ([]Split, error) { return StratifiedKFold(&unlabelled, 2, 0) },
		"one row of each class":    func() ([]Split, error) { return StratifiedKFold(few, 2, 0) },
		"no rows before the first": func() ([]Split, error) { return ForwardFolds(few, 3, nil) },
		"an empty table":           func() ([]Split, error) { return KFold(&Dataset{}, 2, 0) },
	} {
		if got, err := f(); err == nil {
			t.Errorf("%s: got %v", name, got)
		}
	}
}
