package disk

import (
	"bytes"
	"encoding/binary"
	"encoding/hex"
	"errors"
	"fmt"
	"hash/crc32"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// The lists without which kfake takes a directory for an empty one.
const (
	topicsFile = "topics.json"
	metaFile   = "meta.json"
)

// lists are the files that kfake replaces while it runs, each as a whole by renaming.
var lists = []string{topicsFile, metaFile, "acls.json", "sasl.json", "broker_configs.json", "quotas.json"}

// Copies are those of a directory's lists, each with its checksum. They belong to the broker that has the directory to itself. Close them.
type Copies struct {
	dir   string
	quiet atomic.Int64 // when the directory was last changed, if nothing can have been missed since: Unix nanoseconds

	mu   sync.Mutex
	kept map[string]original
	next map[string]time.Time // when a list is tried again that could not be copied, and has no copy
}

// original is what a copy is of. It is open, so that no other file can have its number.
type original struct {
	file *os.File
	info fs.FileInfo
}

// NewCopies copies nothing yet.
func NewCopies(dir string) *Copies {
	return &Copies{dir: dir, kept: map[string]original{}, next: map[string]time.Time{}}
}

// Keep copies the lists that have been replaced since the last time. It is for the moment before an answer leaves the broker: so a copy has
// all that anybody can know, and what the list has beyond it nobody was told. A list that was changed and not replaced is no work of
// kfake's, and is not copied. An error leaves a list without a copy rather than with one that lacks something; it is tried again after a
// second.
func (c *Copies) Keep() error {
	if at := c.quiet.Load(); at != 0 && at == c.changed() {
		return nil
	}
	c.mu.Lock()
	defer c.mu.Unlock()
	at := c.changed()
	var errs []error
	for _, file := range lists {
		if err := c.keep(file); err != nil {
			errs = append(errs, fmt.Errorf("copy %s: %w", file, err))
		}
	}
	if len(c.next) > 0 || time.Since(time.Unix(0, at)) < coarse {
		at = 0
	}
	c.quiet.Store(at)
	return errors.Join(errs...)
}

// coarse is within how long a second change may have the time of the first.
const coarse = 3 * time.Second

// changed is when a name in the directory was last put in, replaced or taken away; 0 where that is not known. So most answers cost one look
// at the directory, and not one at each list.
func (c *Copies) changed() int64 {
	info, err := os.Stat(c.dir)
	if err != nil {
		return 0
	}
	return info.ModTime().UnixNano()
}

func (c *Copies) keep(file string) error {
	if time.Now().Before(c.next[file]) {
		return nil
	}
	delete(c.next, file)
	info, err := os.Stat(filepath.Join(c.dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil // not yet, or not by kfake
	}
	if was, ok := c.kept[file]; ok && err == nil && os.SameFile(was.info, info) {
		return nil
	}
	if err == nil {
		err = c.replace(file)
	}
	if err == nil {
		return nil
	}
	c.forget(file)
	c.next[file] = time.Now().Add(time.Second)
	return errors.Join(err, remove(c.dir, filepath.Join(copiesFolder, file)))
}

// replace makes the copy of a list anew.
func (c *Copies) replace(file string) error {
	f, err := os.Open(filepath.Join(c.dir, file))
	if err != nil {
		return err
	}
	info, err := f.Stat()
	var raw []byte
	if err == nil {
		raw, err = io.ReadAll(f)
	}
	if text, _, whole := unsealed(copyIn(c.dir, file)); err == nil && !(whole && sameList(raw, text)) {
		err = write(c.dir, filepath.Join(copiesFolder, file), sealed(raw))
	}
	if err != nil {
		f.Close()
		return err
	}
	c.forget(file)
	c.kept[file] = original{f, info}
	return nil
}

func (c *Copies) forget(file string) {
	if was, ok := c.kept[file]; ok {
		was.file.Close()
		delete(c.kept, file)
	}
}

// Close lets go of the lists; Keep may still be called, and looks at all of them again.
func (c *Copies) Close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.quiet.Store(0)
	for _, file := range lists {
		c.forget(file)
	}
}

// copyIn is a copy with its checksum; empty where there is none that can be read.
func copyIn(dir, file string) []byte {
	raw, _ := os.ReadFile(filepath.Join(dir, copiesFolder, file))
	return raw
}

// sealed is a text with its checksum on a line of its own behind it.
func sealed(raw []byte) []byte {
	return append(append(bytes.Clone(raw), '\n'), sumOf(raw)...)
}

func sumOf(raw []byte) string {
	return hex.EncodeToString(binary.BigEndian.AppendUint32(nil, crc32.Checksum(raw, castagnoli)))
}

// unsealed is the text of what was sealed, and its checksum; whole tells whether one is that of the other.
func unsealed(raw []byte) (text []byte, sum string, whole bool) {
	at := bytes.LastIndexByte(raw, '\n')
	if at < 0 {
		return nil, "", false
	}
	text, sum = raw[:at], string(raw[at+1:])
	return text, sum, sum == sumOf(text)
}

// removeUnfinished takes away what a copy that was being written has left.
func (v *visit) removeUnfinished() {
	entries, _ := os.ReadDir(filepath.Join(v.dir, copiesFolder)) // there need not be one
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".tmp") {
			v.mends = append(v.mends, func() error { return os.Remove(filepath.Join(v.dir, copiesFolder, e.Name())) })
		}
	}
}
