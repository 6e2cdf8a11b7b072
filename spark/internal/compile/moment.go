package compile

import (
	"errors"
	"fmt"
	"strings"
)

// datePatterns are what layouts of package time are written with, the longer first, and what says the same to Spark: a text, then letters.
// Zones are texts, as times are in UTC. What has neither has no counterpart.
var datePatterns = []struct{ layout, text, spark string }{
	{"January", "", "MMMM"}, {"Jan", "", "MMM"}, {"Monday", "", "EEEE"}, {"Mon", "", "EEE"}, {"MST", "UTC", ""},
	{"2006", "", "yyyy"}, {"_2006", "_", "yyyy"}, {"__2", "", ""}, {"_2", "", ""}, {"002", "", "DDD"},
	{"01", "", "MM"}, {"02", "", "dd"}, {"03", "", "hh"}, {"04", "", "mm"}, {"05", "", "ss"}, {"06", "", "yy"},
	{"-07:00:00", "+00:00:00", ""}, {"-070000", "+000000", ""}, {"-07:00", "+00:00", ""}, {"-0700", "+0000", ""}, {"-07", "+00", ""},
	{"Z07:00:00", "Z", ""}, {"Z070000", "Z", ""}, {"Z07:00", "Z", ""}, {"Z0700", "Z", ""}, {"Z07", "Z", ""},
	{"15", "", "HH"}, {"PM", "", "a"}, {"pm", "", ""}, {"1", "", "M"}, {"2", "", "d"}, {"3", "", "h"}, {"4", "", "m"}, {"5", "", "s"},
}

// datePattern is a layout of package time as Spark's patterns say it.
func datePattern(layout string) (string, error) {
	pattern, plain := "", ""
	for rest := layout; rest != ""; {
		taken, literal, letters, err := dateElement(rest)
		if err != nil {
			return "", fmt.Errorf("the layout %q: %w", layout, err)
		}
		plain, rest = plain+literal, rest[taken:]
		if letters != "" {
			pattern, plain = pattern+literally(plain)+letters, ""
		}
	}
	return pattern + literally(plain), nil
}

// dateElement is what a layout begins with: how many bytes of it, and the same for Spark, a text and letters.
func dateElement(rest string) (taken int, literal, letters string, err error) {
	if n := fraction(rest); n > 0 {
		if rest[1] == '9' {
			return 0, "", "", errors.New("a fraction without its trailing zeros has no counterpart on Spark; write .000")
		}
		return n, rest[:1], strings.Repeat("S", n-1), nil
	}
	for _, p := range datePatterns {
		if !strings.HasPrefix(rest, p.layout) || (p.layout == "Jan" || p.layout == "Mon") && continues(rest) {
			continue
		}
		if p.spark == "" && p.text == "" {
			return 0, "", "", fmt.Errorf("%s has no counterpart on Spark", p.layout)
		}
		return len(p.layout), p.text, p.spark, nil
	}
	return 1, rest[:1], "", nil
}

// continues tells of Jan and Mon whether they are the beginning of a longer word, which package time leaves as it is.
func continues(rest string) bool { return len(rest) > 3 && rest[3] >= 'a' && rest[3] <= 'z' }

// fraction is the length of a fraction of a second that a layout begins with: a point or a comma, and zeros or nines that no digit follows.
func fraction(rest string) int {
	if len(rest) < 2 || rest[0] != '.' && rest[0] != ',' || rest[1] != '0' && rest[1] != '9' {
		return 0
	}
	n := 1
	for n < len(rest) && rest[n] == rest[1] {
		n++
	}
	if n < len(rest) && rest[n] >= '0' && rest[n] <= '9' || n > 10 {
		return 0
	}
	return n
}

// literally is a text in Spark's patterns.
func literally(s string) string {
	if s == "" {
		return ""
	}
	return "'" + strings.ReplaceAll(s, "'", "''") + "'"
}
