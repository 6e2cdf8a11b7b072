package disk

import (
	"encoding/binary"
	"encoding/json"
	"errors"
	"hash/crc32"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
)

// Seal writes the checksums of all small files of a directory that has just been closed.
func Seal(dir string) error {
	return seal(dir, sumsFile, func(string) bool { return true })
}

// Unseal puts others in the place of these checksums, for the time in which a broker runs: of the small files that kfake writes at an
// orderly end only. On a full disk there are none.
func Unseal(dir string) error {
	err := seal(dir, startedFile, func(file string) bool {
		return file == "seq_windows.json" || filepath.Base(file) == snapshotFile
	})
	if errors.Is(err, syscall.ENOSPC) {
		err = remove(dir, startedFile)
	}
	return errors.Join(err, remove(dir, sumsFile))
}

// Ending takes them away too: kfake is about to write these files.
func Ending(dir string) error { return remove(dir, startedFile) }

func remove(dir, file string) error {
	if err := os.Remove(filepath.Join(dir, file)); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

func seal(dir, into string, which func(file string) bool) error {
	sums := map[string]uint32{}
	err := small(dir, func(file string, raw []byte) {
		if which(file) {
			sums[file] = crc32.Checksum(raw, castagnoli)
		}
	})
	if err != nil {
		return err
	}
	raw, err := json.Marshal(sums)
	if err != nil {
		return err
	}
	return write(dir, into, sealed(raw))
}

// small visits the files that are neither records nor ours.
func small(dir string, visit func(file string, raw []byte)) error {
	return filepath.WalkDir(dir, func(path string, e fs.DirEntry, err error) error {
		if err != nil {
			return err
		}
		file, _ := filepath.Rel(dir, path)
		if e.IsDir() && (file == damagedFolder || file == copiesFolder) {
			return fs.SkipDir
		}
		if ext := filepath.Ext(file); e.IsDir() || ours(file) || ext != ".json" && ext != ".log" {
			return nil
		}
		raw, err := os.ReadFile(path)
		visit(file, raw)
		return err
	})
}

func (v *visit) readSums() {
	for file, into := range map[string]*map[string]uint32{sumsFile: &v.sums, startedFile: &v.started} {
		raw, err := v.read(file)
		if text, _, whole := unsealed(raw); err == nil && whole {
			_ = json.Unmarshal(text, into) // its own checksum is right
		}
	}
}

// changed tells whether a file is another one than at an orderly end, or at the start behind it; unknown is false.
func (v *visit) changed(file string, raw []byte) bool {
	sum, ok := v.sums[file]
	if v.sums == nil {
		sum, ok = v.started[file]
	}
	return ok && sum != crc32.Checksum(raw, castagnoli)
}

// logs are the two files of entries: committed offsets and the members of groups, producers' ids.
var logs = []string{"groups.log", "pids.log"}

// Trim cuts off what is no whole entry at the end of a log. A disk that is full takes a part of an entry: kfake would take all behind it for
// damaged when it rewrites the log, and leave it out. It is for the moment in which kfake writes nothing.
func Trim(dir string) error {
	for _, file := range logs {
		raw, err := os.ReadFile(filepath.Join(dir, file))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return err
		}
		_, holes := entries(raw)
		if len(holes) == 0 || holes[len(holes)-1].at+holes[len(holes)-1].size < len(raw) {
			continue
		}
		if err := os.Truncate(filepath.Join(dir, file), int64(holes[len(holes)-1].at)); err != nil {
			return err
		}
	}
	return nil
}

// logs look over the logs.
func (v *visit) logs() error {
	for _, file := range logs {
		raw, err := v.read(file)
		if err != nil {
			return err
		}
		good, holes := entries(raw)
		for _, h := range holes {
			v.setAside(file, "entries from here on are damaged", h.at, raw[h.at:h.at+h.size])
		}
		if len(holes) > 0 {
			v.mends = append(v.mends, func() error { return write(v.dir, file, good) })
		}
	}
	return nil
}

// entries takes a file apart whose entries are a length and a checksum, little-endian, and what they are of. It returns what
// is whole, and the places that are not.
func entries(raw []byte) (good []byte, holes []hole) {
	for at := 0; at < len(raw); {
		if n := entryAt(raw[at:]); n > 0 {
			good = append(good, raw[at:at+n]...)
			at += n
			continue
		}
		next := at + 1
		for next < len(raw) && entryAt(raw[next:]) == 0 {
			next++
		}
		holes = append(holes, hole{at: at, size: next - at})
		at = next
	}
	return good, holes
}

// entryHead is what stands before the JSON of an entry: a length, a checksum, and a version.
const entryHead = 10

// entryAt is the size of the entry at the start, 0 if there is none. An entry has a version of two bytes and JSON.
func entryAt(raw []byte) int {
	const head = entryHead - 2
	if len(raw) < head+4 {
		return 0
	}
	n := int64(binary.LittleEndian.Uint32(raw))
	if n < 4 || n > int64(len(raw)-head) || raw[head+2] != '{' {
		return 0
	}
	if crc32.Checksum(raw[head:head+n], castagnoli) != binary.LittleEndian.Uint32(raw[4:]) {
		return 0
	}
	return head + int(n)
}

// others looks over what a cluster can do without: a file that is no JSON would keep kfake from starting.
func (v *visit) others() error {
	entries, err := os.ReadDir(v.dir)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	for _, e := range entries {
		file := e.Name()
		if e.IsDir() || !strings.HasSuffix(file, ".json") || ours(file) || slices.Contains(lists, file) {
			continue
		}
		raw, err := v.read(file)
		if err != nil {
			return err
		}
		if !json.Valid(raw) || v.changed(file, raw) {
			v.setAside(file, "it is damaged", 0, raw)
			v.mends = append(v.mends, func() error { return os.Remove(filepath.Join(v.dir, file)) })
		}
	}
	return err
}
