//go:build !windows

package main

import (
	"bytes"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cancha/stream/broker"
)

func TestVerifyData(t *testing.T) {
	dir := t.TempDir()
	b, err := broker.Start(broker.Config{Dir: dir})
	if err != nil {
		t.Fatal(err)
	}
	if err := verifyData(&bytes.Buffer{}, dir); err == nil || !strings.Contains(err.Error(), "in use by another broker") {
		t.Errorf("while a broker uses it: %v", err)
	}
	b.Close()
	var out bytes.Buffer
	if err := verifyData(&out, dir); err != nil || out.String() != "all of it is as it was written\n" {
		t.Errorf("whole: %s%v", &out, err)
	}
	if err := os.WriteFile(filepath.Join(dir, "quotas.json"), []byte("{"), 0o644); err != nil {
		t.Fatal(err)
	}
	out.Reset()
	if err := verifyData(&out, dir); err == nil || !strings.Contains(out.String(), "quotas.json: it is damaged: set aside as damaged/quotas.json@0") {
		t.Errorf("damaged: %s%v", &out, err)
	}
	if err := verifyData(&out, filepath.Join(dir, "none")); err == nil {
		t.Error("a directory that is not there is looked over")
	}
}
