package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"fmt"
)

// contents is what the packages of one platform hold.
type contents struct {
	*release
	platform
	program  []byte
	licenses []byte // of others
}

// licensesName is the file with the licenses of others, in every package.
const licensesName = "THIRD_PARTY_LICENSES"

// archive packs the program for those who install it without pip: one folder, to be unpacked anywhere.
func (c contents) archive() (name string, data []byte, err error) {
	folder := fmt.Sprintf("cancha-%s-%s-%s", c.version, c.os, c.arch)
	var packed bytes.Buffer
	z := gzip.NewWriter(&packed)
	t := tar.NewWriter(z)
	for _, f := range []struct {
		name string
		mode int64
		data []byte
	}{
		{"LICENSE", 0o644, c.license},
		{"README.md", 0o644, c.readme},
		{licensesName, 0o644, c.licenses},
		{"cancha", 0o755, c.program},
	} {
		h := &tar.Header{Name: folder + "/" + f.name, Mode: f.mode, Size: int64(len(f.data)), ModTime: epoch, Format: tar.FormatUSTAR}
		if err := t.WriteHeader(h); err != nil {
			return "", nil, err
		}
		if _, err := t.Write(f.data); err != nil {
			return "", nil, err
		}
	}
	if err := t.Close(); err != nil {
		return "", nil, err
	}
	err = z.Close()
	return folder + ".tar.gz", packed.Bytes(), err
}
