package stream

import (
	"slices"
	"strconv"
	"strings"
	"sync"
)

// results keeps the newest rows of a query.
type results struct {
	mu    sync.Mutex
	keep  int
	rows  []Row
	total int64
	at    map[string]int // in update mode, where a row lies; nil in append mode
}

func newResults(mode OutputMode, keep int) *results {
	r := &results{keep: keep}
	if mode == Update {
		r.at = map[string]int{}
	}
	return r
}

// put takes rows in: in append mode as new ones, in update mode in place of what was known of them.
func (r *results) put(rows []Row) {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, row := range rows {
		if r.at != nil {
			name := rowName(row)
			if i, known := r.at[name]; known {
				r.rows[i] = row
				continue
			}
			r.at[name] = len(r.rows)
		}
		r.rows = append(r.rows, row)
		r.total++
	}
	r.trim()
}

// trim forgets the oldest rows once there are a quarter too many, so that the copying costs little a row.
func (r *results) trim() {
	if len(r.rows) <= r.keep+r.keep/4 {
		return
	}
	r.rows = slices.Clone(r.rows[len(r.rows)-r.keep:])
	if r.at == nil {
		return
	}
	clear(r.at)
	for i, row := range r.rows {
		r.at[rowName(row)] = i
	}
}

// rowName is the same for two rows exactly if they have the same window and keys.
func rowName(row Row) string {
	var b strings.Builder
	b.WriteString(strconv.FormatInt(row.Start.UnixNano(), 36))
	for _, k := range row.Keys {
		b.WriteByte(0)
		if k.IsText {
			b.WriteByte('"')
		}
		b.WriteString(k.Text)
	}
	return b.String()
}

func (r *results) snapshot() ([]Row, int64) {
	r.mu.Lock()
	defer r.mu.Unlock()
	return slices.Clone(r.rows[max(0, len(r.rows)-r.keep):]), r.total
}

func (r *results) count() int64 {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.total
}
