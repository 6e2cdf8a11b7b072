package main

import (
	"testing"
	"time"
)

func TestParseMemory(t *testing.T) {
	tests := []struct {
		text string
		want int64 // 0: refused
	}{
		{"4GiB", 4 << 30}, {"4G", 4 << 30}, {"4gb", 4 << 30}, {"512M", 512 << 20}, {"1.5 GiB", 3 << 29}, {"1T", 1 << 40},
		{"1073741824", 1 << 30}, {"262144K", 256 << 20},
		{"", 0}, {"much", 0}, {"4X", 0}, {"-1G", 0}, {"1M", 0}, {"4GiBs", 0}, {"1e30G", 0}, {"NaN", 0},
	}
	for _, tt := range tests {
		t.Run(tt.text, func(t *testing.T) {
			got, err := parseMemory(tt.text)
			if got != tt.want || (err == nil) != (tt.want > 0) {
				t.Errorf("got %d, %v, want %d", got, err, tt.want)
			}
		})
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
