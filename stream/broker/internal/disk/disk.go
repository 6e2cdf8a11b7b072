// Package disk looks over the directory of a durable broker before the broker reads it. The broker's library stops at the first
// byte that is wrong, cuts off what comes behind it, and takes a directory without its list of topics for an empty one. Here
// each batch of records is checked by its own checksum, what is damaged is set aside in the folder "damaged" and named, the
// rest is kept as it is, and lists are restored from copies.
//
// It ends where nothing is left to know: where the list of topics and its copy are gone and records are there, it refuses, as
// the partitions of a topic cannot be told from its records; and where a list and a damaged copy contradict each other.
//
// kfake writes all files itself, by the calls of package os: nothing can stand between it and the disk, and what it writes has
// no checksum, except for batches and the entries of logs. What we write is beside it: copies of the lists with checksums,
// each before an answer tells anybody of a change, and checksums of what kfake writes at an orderly end. So a digit that has
// changed in a file that still is JSON is found, whether the broker was closed or killed. It is not found in what kfake has
// written at an orderly end and nobody has summed up yet: if the process is killed in between, the files snapshot.json and
// seq_windows.json are taken as they are. Nor is a list that was changed while kfake had it in memory any work of ours: kfake
// does not read it again, and writes it anew.
//
// The layout is that of franz-go's kfake at the version in go.mod:
//
//	meta.json topics.json            the cluster, its topics
//	acls.json … broker_configs.json  lists that a cluster can do without
//	groups.log pids.log              entries of a length, a checksum and JSON
//	seq_windows.json …               of an orderly end; a cluster can do without
//	partitions/TOPIC-N/              BASE.dat: batches; BASE.idx: 15 bytes for each; snapshot.json: where it was closed
//
// Copies of the lists are in "copies". A directory that was closed orderly has the checksums of all small files in "sums.json",
// and one whose broker runs, or was killed, has in "started.json" those of what kfake has not written since.
package disk

import (
	"errors"
	"fmt"
	"io/fs"
	"net/url"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"cancha/stream/internal/files"
)

// The folders and files that are ours.
const (
	damagedFolder = "damaged"
	copiesFolder  = "copies"
	sumsFile      = "sums.json"
	startedFile   = "started.json"
)

func ours(file string) bool { return file == sumsFile || file == startedFile }

// Problem is something that is not as it was written.
type Problem struct {
	File string // relative to the directory
	What string // "batch at byte 4,096, 12 records"
	Done string // what is done about it: "set aside as damaged/…"
}

func (p Problem) String() string { return p.File + ": " + p.What + ": " + p.Done }

// Partition is what one partition holds.
type Partition struct {
	Topic       string
	Number      int
	Bytes       int64
	Batches     int
	Records     int64
	First, Next int64 // the first offset, and the one behind the last
}

// Report is what a directory holds.
type Report struct {
	Partitions []Partition // by topic, then by number
	Problems   []Problem
}

// ErrUnknowable comes where records are there that no list of topics tells of. [Rebuild] makes a list of what there is.
var ErrUnknowable = errors.New("what partitions a topic has cannot be told from its records")

// ErrUndecided comes where a list and its copy contradict each other and the copy is damaged, so that either may be right. [Rebuild]
// takes the list.
var ErrUndecided = errors.New("which of the two is right cannot be told")

// Verify looks over a directory and changes nothing. A broker that uses it meanwhile makes the report wrong.
func Verify(dir string) (*Report, error) {
	v := newVisit(dir)
	err := v.all()
	return &v.report, err
}

// Mend looks over a directory, sets aside what is damaged, and leaves what a broker can read. It is for the broker that has
// the directory to itself. The error is one of reading or writing, or ErrUnknowable, and nothing is changed before all is read.
func Mend(dir string) (*Report, error) {
	v := newVisit(dir)
	if err := v.all(); err != nil {
		return &v.report, err
	}
	for _, do := range v.mends {
		if err := do(); err != nil {
			return &v.report, err
		}
	}
	return &v.report, nil
}

// visit is one look at a directory.
type visit struct {
	dir     string
	report  Report
	mends   []func() error
	topics  map[string]topic
	sums    map[string]uint32 // of the small files, if the directory was closed orderly
	started map[string]uint32 // if it was not: of those that have not been written since the start

	transactions transactions
}

func newVisit(dir string) *visit {
	return &visit{dir: dir, transactions: transactions{ends: map[producing]bool{}, open: map[producing][]end{}}}
}

// found notes a problem and what is to be done about it.
func (v *visit) found(file, what, done string, mend func() error) {
	v.report.Problems = append(v.report.Problems, Problem{File: file, What: what, Done: done})
	v.mends = append(v.mends, mend)
}

func (v *visit) all() error {
	folders, err := v.folders()
	if err != nil {
		return err
	}
	v.readSums()
	v.removeUnfinished()
	if err := v.lists(folders); err != nil {
		return err
	}
	for _, step := range []func() error{v.logs, v.others} {
		if err := step(); err != nil {
			return err
		}
	}
	for _, f := range folders {
		if err := v.partition(f); err != nil {
			return fmt.Errorf("partition %s-%d: %w", f.topic, f.number, err)
		}
	}
	return v.finish()
}

// folder is a partition's.
type folder struct {
	topic  string
	number int
	path   string // relative to the directory
}

// folders lists the partitions that have one, by topic and number.
func (v *visit) folders() (folders []folder, err error) {
	entries, err := os.ReadDir(filepath.Join(v.dir, "partitions"))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	for _, e := range entries {
		at := strings.LastIndexByte(e.Name(), '-')
		if at < 0 || !e.IsDir() {
			continue
		}
		topic, errTopic := url.PathUnescape(e.Name()[:at])
		number, errNumber := strconv.Atoi(e.Name()[at+1:])
		if errTopic == nil && errNumber == nil && number >= 0 {
			folders = append(folders, folder{topic, number, filepath.Join("partitions", e.Name())})
		}
	}
	slices.SortFunc(folders, func(a, b folder) int {
		if c := strings.Compare(a.topic, b.topic); c != 0 {
			return c
		}
		return a.number - b.number
	})
	return folders, err
}

// read is the content of a file, nil if it is not there.
func (v *visit) read(file string) ([]byte, error) {
	b, err := os.ReadFile(filepath.Join(v.dir, file))
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	}
	return b, err
}

// write replaces a file: it is the old one or the new one, whole, whenever the machine stops, and the new one once write has returned.
func write(dir, file string, content []byte) error {
	path := filepath.Join(dir, file)
	if err := os.MkdirAll(filepath.Dir(path), 0o755); err != nil {
		return err
	}
	f, err := os.CreateTemp(filepath.Dir(path), filepath.Base(path)+".*.tmp")
	if err != nil {
		return err
	}
	_, err = f.Write(content)
	err = errors.Join(err, f.Chmod(0o644), f.Sync(), f.Close())
	if err == nil {
		err = os.Rename(f.Name(), path)
	}
	if err != nil {
		os.Remove(f.Name())
		return err
	}
	return files.SyncFolder(filepath.Dir(path))
}

// aside is where the bytes from at on of a file go; a name is used once.
func (v *visit) aside(file string, at int) string {
	name := filepath.Join(damagedFolder, fmt.Sprintf("%s@%d", file, at))
	for n := 2; ; n++ {
		if _, err := os.Lstat(filepath.Join(v.dir, name)); errors.Is(err, fs.ErrNotExist) {
			return name
		}
		name = filepath.Join(damagedFolder, fmt.Sprintf("%s@%d.%d", file, at, n))
	}
}

// setAside notes that some bytes of a file are damaged, and has them kept.
func (v *visit) setAside(file, what string, at int, bytes []byte) {
	place := v.aside(file, at)
	v.found(file, what, "set aside as "+filepath.ToSlash(place), func() error { return write(v.dir, place, bytes) })
}
