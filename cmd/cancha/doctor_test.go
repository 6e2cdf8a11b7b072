package main

import (
	"net"
	"strings"
	"testing"
)

func TestCheckBroker(t *testing.T) {
	up, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer up.Close()
	down, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	if err := down.Close(); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name, brokers string
		want          verdict
		found         string
	}{
		{"none named", "", good, "embedded"},
		{"one that answers", up.Addr().String(), good, "accept connections"},
		{"one of two answers", up.Addr().String() + "," + down.Addr().String(), warning, "1 of 2"},
		{"none answers", down.Addr().String(), warning, "refused"},
		{"no address", "localhost", warning, "missing port"},
	} {
		t.Run(test.name, func(t *testing.T) {
			t.Setenv("KAFKA_BROKERS", test.brokers)
			f := checkBroker(t.Context())
			if f.verdict != test.want || !strings.Contains(f.found, test.found) {
				t.Errorf("got %+v, want %s with %q", f, test.want, test.found)
			}
			if f.verdict != good && f.advice == "" {
				t.Error("no advice")
			}
		})
	}
}

// What is missing is a finding with advice, never an error of doctor's own.
func TestChecksWithoutPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("JUPYTER_PATH", "")
	t.Setenv("JUPYTER_DATA_DIR", t.TempDir())
	t.Setenv("VIRTUAL_ENV", t.TempDir())
	for _, f := range []finding{checkKernelspec(t.Context()), checkLab(t.Context()), checkGo(t.Context())} {
		if f.verdict != warning || f.advice == "" || f.found == "" {
			t.Errorf("%s: got %+v, want a warning with advice", f.subject, f)
		}
	}
	if f := checkDisk(t.Context()); f.found == "" {
		t.Errorf("disk: got %+v, want what is free", f)
	}
}

func TestPlace(t *testing.T) {
	o, err := parsePlace("install", []string{"--prefix", "/p", "--name", "n", "-display-name", "N"})
	if err != nil || o.Prefix != "/p" || o.Name != "n" || o.DisplayName != "N" {
		t.Errorf("got %+v, %v", o, err)
	}
	if _, err := parsePlace("install", []string{"extra"}); err == nil {
		t.Error("an argument that means nothing was taken")
	}
}
