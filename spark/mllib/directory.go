package mllib

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"io/fs"
	"os"
	"path"
	"strings"
)

var errElsewhere = errors.New("it lies in another file system")

// local is a directory of this machine as the operating system knows it: file:// may stand before it, or file: alone, as Spark writes it.
func local(dir string) (string, error) {
	if rest, ok := strings.CutPrefix(dir, "file:/"); ok {
		if path, ok := strings.CutPrefix(rest, "/"); ok {
			return path, nil
		}
		return "/" + rest, nil
	}
	if strings.Contains(dir, "://") {
		return "", errElsewhere
	}
	return dir, nil
}

// open returns the files of a directory that is on this machine.
func open(dir string) (fs.FS, error) {
	path, err := local(dir)
	if err != nil {
		return nil, fmt.Errorf("%w; copy it to a local directory first, such as by hadoop fs -get %s", err, dir)
	}
	dir = path
	info, err := os.Stat(dir)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		return nil, errors.New("it is a file, and a model of Spark ML is a directory")
	}
	return os.DirFS(dir), nil
}

// parts returns the files of a folder that Spark would read, in order: not those whose names begin with _ or a dot, such as _SUCCESS.
func parts(dir fs.FS, folder string) (names []string, err error) {
	all, err := fs.ReadDir(dir, folder)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, fmt.Errorf("there is no folder %s in it; a model of Spark ML has metadata and data, copy it as a whole", folder)
	}
	if err != nil {
		return nil, err
	}
	for _, e := range all {
		if !e.IsDir() && !strings.HasPrefix(e.Name(), "_") && !strings.HasPrefix(e.Name(), ".") {
			names = append(names, path.Join(folder, e.Name()))
		}
	}
	if names == nil {
		return nil, fmt.Errorf("there are no files in %s; copy the model as a whole", folder)
	}
	return names, nil
}

// readFile reads a file of up to most bytes, and compares it with the checksums that Hadoop has written beside it, if it has.
func readFile(dir fs.FS, name string, most int64) ([]byte, error) {
	info, err := fs.Stat(dir, name)
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > most {
		return nil, fmt.Errorf("%s is no file of up to %d bytes; it is none that Spark has written", name, most)
	}
	data, err := fs.ReadFile(dir, name)
	if err != nil {
		return nil, err
	}
	folder, base := path.Split(name)
	sums, err := fs.ReadFile(dir, folder+"."+base+".crc")
	if errors.Is(err, fs.ErrNotExist) {
		return data, nil
	}
	if err == nil {
		err = checkSums(data, sums)
	}
	if err != nil {
		return nil, fmt.Errorf("%s: %w", name, err)
	}
	return data, nil
}

// checkSums compares data with the checksums in a file of org.apache.hadoop.fs.ChecksumFileSystem: "crc", 0, how many bytes each is of, and the
// sums, CRC-32.
func checkSums(data, sums []byte) error {
	head, ok := bytes.CutPrefix(sums, []byte("crc\x00"))
	if !ok || len(head) < 4 {
		return errors.New("the file of checksums beside it (.crc) is damaged; delete it if the file itself is whole")
	}
	size, head := int64(binary.BigEndian.Uint32(head)), head[4:]
	if size < 1 || int64(len(head)) != 4*((int64(len(data))+size-1)/size) {
		return fmt.Errorf("it has %d bytes, and its checksums (.crc) are of another number; it was cut short, copy it again", len(data))
	}
	for at := 0; len(data) > 0; at += 4 {
		n := min(size, int64(len(data)))
		if crc32.ChecksumIEEE(data[:n]) != binary.BigEndian.Uint32(head[at:]) {
			return fmt.Errorf("its bytes do not fit its checksums (.crc), from byte %d on; it is damaged, copy it again", int64(at/4)*size)
		}
		data = data[n:]
	}
	return nil
}
