package session

import "testing"

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
			got, err := ParseMemory(tt.text)
			if got != tt.want || (err == nil) != (tt.want > 0) {
				t.Errorf("got %d, %v, want %d", got, err, tt.want)
			}
		})
	}
}
