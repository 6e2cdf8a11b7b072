package lwp

import (
	"path/filepath"
	"testing"
)

// TestOldFiles opens models of simulated matches that an older program saved, before the ratings had strengths, and compares its answer.
func TestOldFiles(t *testing.T) {
	ms := loadSeason(t)
	for name, want := range map[string][3]float64{
		"outcome_v3":         {0.57288809139077834, 0.23616261837210176, 0.19094929023711998},
		"remaining_goals_v3": {0.79084947930870242, 0.14451164356368193, 0.064638877127615804},
	} {
		m, err := Open(filepath.Join("testdata", name))
		if err != nil {
			t.Fatal(err)
		}
		if got := m.Predict(ms).P[40]; [3]float64(got) != want {
			t.Errorf("%s: got %v, want %v", name, got, want)
		}
	}
}
