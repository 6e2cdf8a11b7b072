// Package lineage tells an epoch of a query from another one of the same number. It knows names alone: what the epochs hold is the sinks' business.
//
// A query that goes back to an older snapshot counts on from that one's number, so its epochs have the numbers of those that it went back behind, and other
// rows. Each start of a query is a run with a name of its own, and a run has each number once. The path of a sink says which runs have written what it
// holds, and how far each of them counts. A snapshot that lies on the path is one that the sink can go back to, or has come from; one that does not belongs to
// epochs that the sink has never had, or has taken off.
package lineage

import (
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"
)

// ErrTakenOver is part of the error of a sink where another process has gone on with what it was to write.
var ErrTakenOver = errors.New("another process has gone on with this query")

// Run is a run of a query, as far as a sink holds its epochs.
type Run struct {
	ID string // see Short; empty: runs of a version that gave them no names, or whose names are not known any more: each epoch is one of theirs
	To int64  // the epoch that the next run went on from; Open: there is no next one
}

// Open is the To of a run that nothing has gone on from.
const Open = math.MaxInt64

// Path is the runs of a sink in the order in which they went on from each other.
type Path []Run

// most bounds a path: the names of older runs are forgotten.
const most = 1000

// Short is the name of a run in a path and in the names of files: the first eight letters, which are random.
func Short(run string) string { return run[:min(len(run), 8)] }

// at finds the run of an epoch; -1: the path does not have the epoch.
func (p Path) at(run string, epoch int64) int {
	from := int64(0)
	for i, r := range p {
		if (r.ID == Short(run) || r.ID == "") && epoch > from && epoch <= r.To {
			return i
		}
		from = r.To
	}
	return -1
}

// Has tells whether an epoch is one of the path's.
func (p Path) Has(run string, epoch int64) bool { return p.at(run, epoch) >= 0 }

// Of is the run of an epoch; empty: the path has none of that number, or no name of its run.
func (p Path) Of(epoch int64) string {
	for _, r := range p {
		if epoch <= r.To {
			return r.ID
		}
	}
	return ""
}

// Back is the path up to an epoch that it has; empty where it has not.
func (p Path) Back(run string, epoch int64) Path {
	at := p.at(run, epoch)
	if at < 0 {
		return Path{}
	}
	return append(append(Path{}, p[:at]...), Run{p[at].ID, epoch})
}

// Through is the path up to an epoch that it has, with the epochs of a run behind that up to another one.
func (p Path) Through(run string, epoch int64, next string, to int64) Path {
	return p.Back(run, epoch).On(next).Back(next, to)
}

// Upto is the path without the runs that have gone on from a run's last epochs.
func (p Path) Upto(run string) Path {
	for i := len(p) - 1; i > 0; i-- {
		if p[i].ID == Short(run) {
			return p[:i+1]
		}
	}
	return p[:min(1, len(p))]
}

// GoesOnFrom tells whether the last run of another path is one of this path's, which may have gone on since: with the same epochs, for a run may come back.
func (p Path) GoesOnFrom(other Path) bool {
	n := len(other)
	if n == 0 {
		return true
	}
	first := int64(1)
	if n > 1 {
		first += other[n-2].To
	}
	return p.Has(other[n-1].ID, first)
}

// On is the path with a run that goes on from its end.
func (p Path) On(run string) Path {
	on := append(Path{}, p...)
	if n := len(on); n > 0 && on[n-1].ID == Short(run) {
		on[n-1].To = Open
		return on
	}
	on = append(on, Run{Short(run), Open})
	if more := len(on) - most; more > 0 {
		on = on[more:]
		on[0].ID = ""
	}
	return on
}

// nameless stands for a run without a name, and endless for one that nothing has gone on from.
const (
	nameless = "-"
	endless  = "*"
)

// String writes a path on one line: each run and how far it counts, such as "1f0c9a52:6 77ab01c4:*".
func (p Path) String() string {
	words := make([]string, len(p))
	for i, r := range p {
		id, to := r.ID, endless
		if id == "" {
			id = nameless
		}
		if r.To != Open {
			to = strconv.FormatInt(r.To, 10)
		}
		words[i] = id + ":" + to
	}
	return strings.Join(words, " ")
}

// Parse reads what String has written.
func Parse(text string) (Path, error) {
	var p Path
	for _, word := range strings.Fields(text) {
		id, number, ok := strings.Cut(word, ":")
		to, err := int64(Open), error(nil)
		if number != endless {
			to, err = strconv.ParseInt(number, 10, 64)
		}
		if !ok || id == "" || err != nil || to < 0 {
			return nil, fmt.Errorf("%.100q is no run and its last epoch", word)
		}
		if id == nameless {
			id = ""
		}
		p = append(p, Run{id, to})
	}
	return p, nil
}
