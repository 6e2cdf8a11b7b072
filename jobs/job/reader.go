package job

import (
	"encoding/json"
	"math"
	"slices"
	"strings"
)

// reader reads fields of a JSON object one by one. The first fault stays in err, and what is read behind it is of no account.
type reader struct {
	fields map[string]json.RawMessage
	asked  []string // names of what was read, whether it is there or not
	used   []string // names of what was there
	err    error
}

func newReader(object []byte) (*reader, error) {
	r := &reader{}
	if len(object) == 0 {
		return r, nil
	}
	if err := json.Unmarshal(object, &r.fields); err != nil {
		return nil, bad("parameters", "want a JSON object: %v", err)
	}
	if r.fields == nil { // null is as if there were none
		return r, nil
	}
	return r, unique("parameters", object, len(r.fields))
}

// find returns the first of the names that there is; null is as if it were not.
func (r *reader) find(names []string) (name string, value json.RawMessage) {
	r.asked = append(r.asked, names...)
	for _, name := range names {
		if v, ok := r.fields[name]; ok && string(v) != "null" {
			r.used = append(r.used, name)
			return name, v
		}
	}
	return "", nil
}

// whole reads a whole number, which may be written as 1e3 or 1000.0.
func (r *reader) whole(usual, least, most int64, names ...string) int64 {
	name, value := r.find(names)
	if name == "" {
		return usual
	}
	return r.number(name, value, least, most)
}

func (r *reader) number(name string, value json.RawMessage, least, most int64) int64 {
	var f float64
	if err := json.Unmarshal(value, &f); err != nil || f != math.Trunc(f) {
		r.fail(bad(name, "%.100s; it is a whole number", value))
		return least
	}
	if f < float64(least) || f > float64(most) {
		r.fail(bad(name, "%.100s; it is %d to %d", value, least, most))
		return least
	}
	return int64(f)
}

// pair reads an array of two whole numbers, or one number that is both.
func (r *reader) pair(usual, usual2, least, most int64, names ...string) (int64, int64) {
	name, value := r.find(names)
	if name == "" {
		return usual, usual2
	}
	if !strings.HasPrefix(string(value), "[") {
		n := r.number(name, value, least, most)
		return n, n
	}
	var two []json.RawMessage
	if err := json.Unmarshal(value, &two); err != nil || len(two) < 2 || len(two) > 3 { // a third is the number of colours
		r.fail(bad(name, "%.100s; it is [width, height]", value))
		return least, least
	}
	return r.number(name, two[0], least, most), r.number(name, two[1], least, most)
}

// one reads a text that is one of several, the first where it is missing.
func (r *reader) one(of []string, names ...string) string {
	name, value := r.find(names)
	if name == "" {
		return of[0]
	}
	var s string
	if err := json.Unmarshal(value, &s); err != nil || !slices.Contains(of, s) {
		r.fail(bad(name, "%.100s; it is one of %s", value, strings.Join(of, ", ")))
	}
	return s
}

// seed reads the seed of what is pseudo-random; 0 where it is missing, so that a job that runs twice computes the same.
func (r *reader) seed() int64 { return r.whole(0, -mostExact, mostExact, "seed") }

// mostExact is up to where a float64 has every whole number, and none of them stands for its neighbour.
const mostExact = 1<<53 - 1

func (r *reader) fail(err error) {
	if r.err == nil {
		r.err = err
	}
}
