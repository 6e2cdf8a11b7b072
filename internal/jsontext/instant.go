package jsontext

import (
	"math"
	"time"
)

// Instants reads RFC 3339 times. It remembers the last date, since records of a stream share theirs. The zero value works.
type Instants struct {
	date [10]byte // yyyy-mm-dd of midnight; zero at first, which no date equals
	day  int64    // that date's midnight UTC in nanoseconds since 1970
}

// Parse returns nanoseconds since 1970, for any RFC 3339 time between 1678 and 2262 (what an int64 of nanoseconds holds).
// The form our producer writes, 2006-01-02T15:04:05.000Z, takes the short way.
func (p *Instants) Parse(s []byte) (ns int64, ok bool) {
	if len(s) != len("2006-01-02T15:04:05.000Z") || s[10] != 'T' || s[23] != 'Z' || string(s[:10]) != string(p.date[:]) {
		return p.parseSlow(s)
	}
	if s[13] != ':' || s[16] != ':' || s[19] != '.' {
		return p.parseSlow(s)
	}
	hour, ok1 := two(s[11], s[12])
	minute, ok2 := two(s[14], s[15])
	second, ok3 := two(s[17], s[18])
	high, ok4 := two(s[20], s[21])
	if !(ok1 && ok2 && ok3 && ok4 && Digit(s[22])) || hour > 23 || minute > 59 || second > 59 {
		return p.parseSlow(s)
	}
	millis := high*10 + int64(s[22]-'0')
	return p.day + ((hour*60+minute)*60+second)*int64(time.Second) + millis*int64(time.Millisecond), true
}

func two(a, b byte) (int64, bool) {
	return int64(a-'0')*10 + int64(b-'0'), Digit(a) && Digit(b)
}

func (p *Instants) parseSlow(s []byte) (int64, bool) {
	t, err := time.Parse(time.RFC3339Nano, string(s))
	if err != nil || t.Before(firstInstant) || t.After(lastInstant) {
		return 0, false
	}
	if len(s) > 10 && s[len(s)-1] == 'Z' && p.remember(t) {
		copy(p.date[:], s)
	}
	return t.UnixNano(), true
}

// remember keeps t's midnight; it says no if that is outside the range.
func (p *Instants) remember(t time.Time) bool {
	midnight := t.UTC().Truncate(24 * time.Hour)
	if midnight.Before(firstInstant) || midnight.Add(24*time.Hour).After(lastInstant) {
		return false
	}
	p.day = midnight.UnixNano()
	return true
}

var (
	firstInstant = time.Unix(0, math.MinInt64)
	lastInstant  = time.Unix(0, math.MaxInt64)
)
