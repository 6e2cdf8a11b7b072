package conf

import (
	"fmt"
	"math"
	"strconv"
	"strings"
)

// Bytes reads a size as Spark writes them: a number with k, m, g, t or p, of 1,024 each, "b" behind it or not, in either case. A number
// alone counts unit bytes: 1 << 20 for Spark's memory of executors and drivers, 1 elsewhere. As Spark does it refuses a sign, and a space
// within (JavaUtils.byteStringAs: digits, and letters behind them).
func Bytes(s string, unit int64) (int64, error) {
	number := strings.TrimRight(strings.ToLower(strings.TrimSpace(s)), "kmgtpb")
	suffix := strings.ToLower(strings.TrimSpace(s))[len(number):]
	switch strings.TrimSuffix(suffix, "b") {
	case "":
		if suffix != "" {
			unit = 1
		}
	case "k":
		unit = 1 << 10
	case "m":
		unit = 1 << 20
	case "g":
		unit = 1 << 30
	case "t":
		unit = 1 << 40
	case "p":
		unit = 1 << 50
	default:
		return 0, fmt.Errorf("%q is no size: write 8g or 512m", s)
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || strings.HasPrefix(number, "+") || n < 0 || n > math.MaxInt64/unit {
		return 0, fmt.Errorf("%q is no size: write 8g or 512m", s)
	}
	return n * unit, nil
}

// FormatBytes writes a size as Bytes reads it, with the largest unit that it is a multiple of.
func FormatBytes(n int64) string {
	suffixes := "bkmgtp"
	i := 0
	for n != 0 && n%1024 == 0 && i < len(suffixes)-1 {
		n /= 1024
		i++
	}
	return strconv.FormatInt(n, 10) + strings.TrimPrefix(suffixes[i:i+1], "b")
}
