package table

import (
	"fmt"
	"io"
)

// widths passes a file of comma-separated values on as long as its rows are no wider than they can rightly be. A value that is empty
// takes one byte in the file and a string's sixteen in a row, so a row must be refused before it is taken apart.
type widths struct {
	in             io.Reader
	quoted         bool
	line           int // lines that are over
	values, length int // of the row that is read: values that are over, bytes
	columns        int // values of the first row
	wrong          error
}

// narrow rows pass as they are: who takes them apart says better what is wrong with them.
const narrow = 1024

// Read implements [io.Reader].
func (w *widths) Read(p []byte) (int, error) {
	if w.wrong != nil {
		return 0, w.wrong
	}
	n, err := w.in.Read(p)
	if at := w.take(p[:n]); w.wrong != nil {
		return at, w.wrong
	}
	return n, err
}

// take returns where the row became too wide.
func (w *widths) take(p []byte) int {
	from := -w.length // where the row begins
	for i, b := range p {
		switch b {
		case '"':
			w.quoted = !w.quoted // a quote within quotes is written twice
		case ',':
			if w.quoted {
				continue
			}
			if w.values++; w.values >= narrow {
				if w.check(i + 1 - from); w.wrong != nil {
					return i
				}
			}
		case '\r':
			from++ // no part of the row, so that an empty line is empty
		case '\n':
			w.line++
			if w.quoted {
				continue
			}
			if w.columns == 0 && i > from { // an empty line is no row
				w.columns = w.values + 1
			}
			w.values, from = 0, i+1
		}
	}
	w.length = len(p) - from
	return len(p)
}

func (w *widths) check(length int) {
	switch {
	case w.columns == 0 && length < 2*w.values: // 257 names have at most one byte and a comma, all others more
		w.wrong = fmt.Errorf("line %d has %d names in %d bytes, so two columns have the same name", w.line+1, w.values, length)
	case w.columns > 0 && w.values >= w.columns:
		w.wrong = fmt.Errorf("line %d has more values than the header's %d", w.line+1, w.columns)
	}
}
