//go:build !windows

package main

import (
	"os"
	"testing"
	"time"
)

// TestMemoryLimit: the variable counts before the file of settings, and a file that cannot be read is no limit.
func TestMemoryLimit(t *testing.T) {
	t.Chdir(t.TempDir())
	for _, test := range []struct {
		variable, file string
		want           int64
	}{
		{"", "", 0}, {"4GiB", "", 4 << 30}, {"4GiB", "cancha.memory 2g", 4 << 30}, {"", "cancha.memory 2g", 2 << 30},
		{"", "spark.executor.memory 3g", 4 << 30}, {"", "cancha.memory much", 0}, {"much", "", -1}, {"100m", "", -1},
	} {
		t.Setenv(memoryVariable, test.variable)
		if err := os.WriteFile("cancha.conf", []byte(test.file+"\n"), 0o600); err != nil {
			t.Fatal(err)
		}
		if got, _, err := memoryLimit(); (err != nil) != (test.want < 0) || err == nil && got != test.want {
			t.Errorf("%+v: got %d, %v", test, got, err)
		}
	}
}

// TestWatchMemory ends what holds more than its limit, and nothing else.
func TestWatchMemory(t *testing.T) {
	held, err := residentMemory()
	if err != nil {
		t.Skip(err)
	}
	if held < 1<<20 || held > 8<<30 {
		t.Errorf("holds %d bytes", held)
	}
	ended := make(chan bool)
	go watchMemory(held/4, func() { ended <- true; select {} })
	select {
	case <-ended:
	case <-time.After(10 * time.Second):
		t.Error("not ended above the limit")
	}
	go watchMemory(1<<50, func() { ended <- false })
	select {
	case <-ended:
		t.Error("ended below the limit")
	case <-time.After(10 * memoryInterval):
	}
}
