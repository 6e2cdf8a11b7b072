package session

import (
	"fmt"
	"strconv"
	"strings"
)

// leastMemory is what an engine needs to load notebooks' packages and do something with them, in bytes.
const leastMemory = 256 << 20

// ParseMemory reads an amount of memory for a run, of at least 256 MiB: bytes, or a number with K, M, G or T behind, which may be followed
// by B or iB. All count in powers of 1024.
func ParseMemory(text string) (int64, error) {
	n, err := parseSize(text)
	if err == nil && n < leastMemory {
		err = fmt.Errorf("%q is too little memory for a run: give at least 256M, such as 4GiB", text)
	}
	if err != nil {
		return 0, err
	}
	return n, nil
}

// parseSize reads a size in bytes, as ParseMemory does, of any amount.
func parseSize(text string) (int64, error) {
	number := strings.TrimSuffix(strings.TrimSuffix(strings.ToUpper(strings.TrimSpace(text)), "B"), "I")
	factor := 1.0
	for i, unit := range []string{"K", "M", "G", "T"} {
		if rest, ok := strings.CutSuffix(number, unit); ok {
			number, factor = rest, float64(int64(1)<<(10*(i+1)))
		}
	}
	n, err := strconv.ParseFloat(strings.TrimSpace(number), 64)
	if n *= factor; err != nil || !(n >= 0 && n <= 1<<60) {
		return 0, fmt.Errorf("%q is no size: write 8g, 512m or 1.5GiB", text)
	}
	return int64(n), nil
}

func checkMemory(c Config) error {
	if c.Memory > 0 && c.Memory < leastMemory {
		return fmt.Errorf("%d bytes are too little memory for a run: give at least 256m", c.Memory)
	}
	return nil
}
