package kernel

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"
	"unicode/utf8"

	"cancha/internal/cellio"
)

// What a cell prints is shown up to shownMost bytes and, of what comes then, the last tailMost at the cell's end; tailParts
// bounds the messages that takes. What a cell prints is kept from its beginning, in memory up to earlyMost and then in a file,
// so that the whole can be looked up where something is left out.
const (
	shownMost = 20_000_000 - tailMost
	tailMost  = 100_000
	tailParts = 32
	earlyMost = 1 << 20
)

// Files of output are bounded: each, all together (the oldest go), and in age.
const (
	fileMost     = 1 << 30
	filesMost    = 2 << 30
	filesOldest  = 7 * 24 * time.Hour
	filesPattern = "cell-*.txt"
)

// overflow is the folder of what was too much to show. It is private to the user, and shared by the user's kernels.
type overflow struct{ folder string }

// create makes a file for the output of the cell with the given execution count, and room for it.
func (o *overflow) create(count int) (*os.File, error) {
	if err := os.MkdirAll(o.folder, 0o700); err != nil {
		return nil, err
	}
	o.sweep(time.Now())
	return os.CreateTemp(o.folder, fmt.Sprintf("cell-%d-%s-*.txt", count, time.Now().Format("20060102-150405"))) // mode 0600
}

// sweep removes the files that are too old, and the oldest while there are too many bytes.
func (o *overflow) sweep(now time.Time) {
	paths, _ := filepath.Glob(filepath.Join(o.folder, filesPattern)) // fails on a bad pattern only
	type file struct {
		path string
		info os.FileInfo
	}
	var files []file
	for _, path := range paths {
		if info, err := os.Stat(path); err == nil {
			files = append(files, file{path, info})
		}
	}
	slices.SortFunc(files, func(a, b file) int { return cmp.Compare(b.info.ModTime().UnixNano(), a.info.ModTime().UnixNano()) })
	var bytes int64
	for _, f := range files {
		bytes += f.info.Size()
		if bytes > filesMost-fileMost || now.Sub(f.info.ModTime()) > filesOldest {
			_ = os.Remove(f.path) // by the next time at the latest
		}
	}
}

// transcript is what a cell has printed. It is locked while something of it is published, so that its order is kept.
type transcript struct {
	to    *overflow
	count int

	mu      sync.Mutex
	total   int64 // bytes
	shown   int64
	dropped int64 // bytes that are neither shown nor in the tail
	tail    []cellio.Stream
	ended   bool

	early    []byte // what is to be in the file, which is not there yet
	file     *os.File
	path     string
	kept     int64 // bytes in the file
	failed   error // why nothing more is kept
	fileFrom int64 // where in the output the file begins
}

// add takes a piece of output and returns what of it is to be shown, and what is to be said of the rest.
func (t *transcript) add(s cellio.Stream) (show, say string) {
	t.keep(s.Text)
	t.total += int64(len(s.Text))
	n := len(s.Text)
	if room := max(0, shownMost-t.shown); int64(n) > room { // a tail that was shown takes it beyond shownMost
		for n = int(room); n > 0 && !utf8.RuneStart(s.Text[n]); n-- {
		}
	}
	t.shown += int64(n)
	if n == len(s.Text) {
		return s.Text, ""
	}
	before := t.dropped
	t.push(cellio.Stream{Name: s.Name, Text: s.Text[n:]})
	if before == 0 && t.dropped > 0 {
		say = t.announce()
	}
	return s.Text[:n], say
}

// push adds to the tail what is not shown, and drops what is then too much. After the cell's end there is no later time to show
// it, so nothing stays.
func (t *transcript) push(s cellio.Stream) {
	if last := len(t.tail) - 1; last >= 0 && t.tail[last].Name == s.Name {
		t.tail[last].Text += s.Text
	} else {
		t.tail = append(t.tail, s)
	}
	size := 0
	for i := len(t.tail) - 1; i >= 0; i-- {
		text := t.tail[i].Text
		room := max(0, tailMost-size)
		if t.ended || len(t.tail)-i > tailParts {
			room = 0
		}
		from := max(0, len(text)-room)
		for from < len(text) && !utf8.RuneStart(text[from]) {
			from++
		}
		t.dropped += int64(from)
		t.tail[i].Text = text[from:]
		size += len(text) - from
	}
	t.tail = slices.DeleteFunc(t.tail, func(s cellio.Stream) bool { return s.Text == "" })
}

// announce says, when the first of the output is left out, what becomes of it.
func (t *transcript) announce() string {
	end := "Its end is shown when the cell ends."
	if t.ended {
		end = "The cell has ended, so its end is not shown either."
	}
	return fmt.Sprintf("\n[More than %d MB of output: from here on it is not shown. %s %s]\n", (shownMost+tailMost)/1_000_000, end, t.where())
}

// where says where the output can be read.
func (t *transcript) where() string {
	switch {
	case t.failed != nil:
		return fmt.Sprintf("It could not be kept in a file: %v.", t.failed)
	case t.path == "":
		return "It is not kept."
	case t.fileFrom > 0:
		return fmt.Sprintf("From byte %d on it is in %s.", t.fileFrom, t.path)
	}
	return fmt.Sprintf("The whole is in %s.", t.path)
}

// end returns what is to be shown at the cell's end, and forgets what need not be kept.
func (t *transcript) end() []cellio.Stream {
	t.mu.Lock()
	defer t.mu.Unlock()
	tail := t.tail
	if t.dropped > 0 {
		where := t.where()
		if t.kept >= fileMost {
			where = fmt.Sprintf("The first %d bytes are in %s.", t.kept, t.path)
		}
		tail = append([]cellio.Stream{{Name: "stderr", Text: fmt.Sprintf(
			"\n[%d bytes of output are left out here, from byte %d of %d on. %s]\n", t.dropped, t.shown, t.total, where)}}, tail...)
	} else {
		for _, s := range tail {
			t.shown += int64(len(s.Text))
		}
	}
	t.close(t.dropped == 0)
	t.tail, t.early, t.ended = nil, nil, true
	return tail
}

// keep adds text to what can be looked up. A disk that is full, or whatever else is wrong with it, is not the cell's business.
func (t *transcript) keep(text string) {
	if t.to == nil || t.to.folder == "" || t.failed != nil {
		return
	}
	if t.path == "" {
		if t.early == nil {
			t.fileFrom = t.total
		}
		switch {
		case t.ended && t.shown+int64(len(text)) <= shownMost:
			return // it is shown whole
		case !t.ended && len(t.early)+len(text) < earlyMost:
			t.early = append(t.early, text...)
			return
		}
	}
	text = text[:min(int64(len(text)), max(0, fileMost-t.kept-int64(len(t.early))))]
	if err := t.write(text); err != nil {
		t.failed = err
		t.close(true)
	}
}

// write writes what was held and text. After the cell's end, when output is rare, the file is not kept open.
func (t *transcript) write(text string) (err error) {
	switch {
	case t.file != nil:
	case t.path != "":
		t.file, err = os.OpenFile(t.path, os.O_APPEND|os.O_WRONLY, 0)
	default:
		if t.file, err = t.to.create(t.count); err == nil {
			t.path = t.file.Name()
		}
	}
	if err != nil {
		return err
	}
	for _, part := range []string{string(t.early), text} {
		n, err := t.file.WriteString(part)
		t.kept += int64(n)
		if err != nil {
			return err
		}
	}
	t.early = nil
	if t.ended {
		t.close(false)
	}
	return nil
}

// close closes the file, and removes it where nobody needs it.
func (t *transcript) close(remove bool) {
	if t.file != nil {
		_ = t.file.Close() // what it could not write it has said before
		t.file = nil
	}
	if remove && t.path != "" {
		_ = os.Remove(t.path) // else the next sweep does
		t.path, t.kept = "", 0
	}
}
