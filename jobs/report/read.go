package report

import (
	"bufio"
	"bytes"
	"errors"
	"fmt"
	"io"
	"os"
)

// File is what was read of a file of results.
type File struct {
	Records []Record
	// Torn tells that the last line has no end: whoever writes the file is at it, or was killed there. It is not among the records.
	Torn bool
}

// ReadFile reads a file of results. The error of a line that is none names it as FILE:LINE.
func ReadFile(path string) (*File, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, fmt.Errorf("jobs/report: %w", err)
	}
	defer f.Close()
	out := &File{}
	_, out.Torn, err = scan(f, path, func(r *Record) { out.Records = append(out.Records, *r) })
	if err != nil {
		return nil, err
	}
	return out, nil
}

// scan calls a function with each record. whole is the length of all lines that have an end.
func scan(from io.Reader, path string, each func(*Record)) (whole int64, torn bool, err error) {
	in := bufio.NewReaderSize(from, 1<<16)
	for number := 1; ; number++ {
		line, err := in.ReadBytes('\n')
		if errors.Is(err, io.EOF) {
			return whole, len(line) > 0, nil
		}
		if err != nil {
			return whole, false, fmt.Errorf("jobs/report: read: %w", err)
		}
		whole += int64(len(line))
		if len(bytes.TrimSpace(line)) == 0 {
			continue
		}
		r, err := parse(line)
		if err != nil {
			return whole, false, fmt.Errorf("jobs/report: %s:%d: %w; mend the line, or take it out", path, number, err)
		}
		each(&r)
	}
}
