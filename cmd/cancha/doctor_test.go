//go:build !windows

package main

import (
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cancha/kernel/workspace"
	"cancha/runtime/gpu"
	"cancha/runtime/gpu/driver"
)

// listening is the address of a port on which somebody listens until the test ends.
func listening(t *testing.T) *net.TCPAddr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { l.Close() })
	return l.Addr().(*net.TCPAddr)
}

// refusing is the address of a port on which nobody listens any more.
func refusing(t *testing.T) *net.TCPAddr {
	t.Helper()
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err == nil {
		err = l.Close()
	}
	if err != nil {
		t.Fatal(err)
	}
	return l.Addr().(*net.TCPAddr)
}

// connectionFile writes one for a kernel whose heartbeat is at an address.
func connectionFile(t *testing.T, folder, name, kernel, key string, at *net.TCPAddr) {
	t.Helper()
	text := fmt.Sprintf(`{"shell_port":1,"iopub_port":2,"stdin_port":3,"control_port":4,"hb_port":%d,"key":%q,"kernel_name":%q}`, at.Port, key, kernel)
	if err := os.WriteFile(filepath.Join(folder, name), []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
}

func TestCheckBroker(t *testing.T) {
	up, down := listening(t).String(), refusing(t).String()
	for _, test := range []struct {
		name, brokers string
		want          verdict
		found         string
	}{
		{"none named", "", good, "embedded"},
		{"one that answers", up, good, "accept connections"},
		{"one of two answers", up + "," + down, warning, "1 of 2"},
		{"none answers", down, warning, "refused"},
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

func TestCheckMaster(t *testing.T) {
	up, down := listening(t).String(), refusing(t).String()
	for _, test := range []struct {
		name, master string
		want         verdict
		found        string
	}{
		{"this process", "local[2]", "", ""},
		{"one that answers", "sc://" + up + "/;token=s3cret", good, "sc://" + up + "/;token=(hidden) accepts connections"},
		{"one that does not", "sc://" + down + "/;token=s3cret", warning, "refused"},
		{"none", "yarn", "", ""},
	} {
		t.Setenv("CANCHA_MASTER", test.master)
		found := checkMaster(t.Context())
		switch {
		case test.want == "" && len(found) > 0:
			t.Errorf("%s: got %+v", test.name, found)
		case test.want == "":
		case len(found) != 1 || found[0].verdict != test.want || !strings.Contains(found[0].found, test.found) || strings.Contains(found[0].found, "s3cret"):
			t.Errorf("%s: got %+v, want %s with %q", test.name, found, test.want, test.found)
		}
	}
}

func TestJudgeGPU(t *testing.T) {
	one := gpu.Discovery{Devices: []gpu.Device{{Info: driver.Info{Name: "NVIDIA X", UUID: "GPU-1"}}}}
	for _, test := range []struct {
		name    string
		devices int
		found   gpu.Discovery
		err     error
		want    verdict
		text    string
	}{
		{"none", 0, gpu.Discovery{Missing: "no driver"}, nil, good, "on the CPU: no driver"},
		{"one that is used", 1, one, nil, good, "NVIDIA X"},
		{"one that compiled cells cannot use", 1, one, errors.New("no header"), warning, "interpreted cells only: no header"},
		{"one that is not", 2, gpu.Discovery{Missing: "error 803"}, nil, warning, "2 NVIDIA devices, and everything runs on the CPU: error 803"},
	} {
		f := judgeGPU(test.devices, test.found, test.err)
		if f.verdict != test.want || !strings.Contains(f.found, test.text) || (f.advice == "") != (f.verdict == good) {
			t.Errorf("%s: got %+v, want %s with %q", test.name, f, test.want, test.text)
		}
	}
}

func TestCheckSignatures(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("JUPYTER_RUNTIME_DIR", folder)
	up := listening(t)
	connectionFile(t, folder, "kernel-signed.json", "", "k", up)
	if found := checkSignatures(t.Context()); len(found) != 0 {
		t.Errorf("found %+v", found)
	}
	connectionFile(t, folder, "kernel-open.json", "", "", up)
	if found := checkSignatures(t.Context()); len(found) != 1 || !strings.Contains(found[0].found, "kernel-open.json has an empty key") {
		t.Errorf("found %+v, want kernel-open.json", found)
	}
}

// What is missing is a finding with advice, never an error of doctor's own.
func TestChecksWithoutPrograms(t *testing.T) {
	t.Setenv("PATH", t.TempDir())
	t.Setenv("HOME", t.TempDir())
	t.Setenv("JUPYTER_PATH", "")
	t.Setenv("JUPYTER_DATA_DIR", t.TempDir())
	t.Setenv("VIRTUAL_ENV", t.TempDir())
	for _, f := range []finding{checkKernelspec(t.Context()), checkLab(t.Context())} {
		if f.verdict != warning || f.advice == "" || f.found == "" {
			t.Errorf("%s: got %+v, want a warning with advice", f.subject, f)
		}
	}
	if f := checkDisk(t.Context()); f.found == "" {
		t.Errorf("disk: got %+v, want what is free", f)
	}
}

func TestEngineFindings(t *testing.T) {
	complete := workspace.State{GoVersion: "go1.26.8", Root: "/go", Compiler: "gcc 12", Dir: "/c/k", Size: 550_000_000}
	for _, test := range []struct {
		name string
		cut  func(*workspace.State)
		want verdict
		says []string
	}{
		{"whole", func(*workspace.State) {}, good, []string{"go1.26.8 in /go", "gcc 12", "compiles cells: 550 MB in /c/k"}},
		{"not built", func(s *workspace.State) { s.Err = workspace.ErrNone }, warning, []string{"not built", "cancha install"}},
		{"no C compiler", func(s *workspace.State) {
			s.Compiler, s.Err = "", &workspace.Obstacle{Fault: "no C compiler was found", Advice: "install gcc"}
		}, warning, []string{"no C compiler was found", "install gcc", "not found"}},
		{"no toolchain", func(s *workspace.State) {
			*s = workspace.State{Err: &workspace.Obstacle{Fault: "no Go toolchain was found", Advice: "install Go"}}
		}, warning, []string{"none that will do", "no Go toolchain was found", "install Go"}},
		{"damaged", func(s *workspace.State) { s.Err = errors.New("damaged: bin/cancha is not what was built") }, warning, []string{"damaged", "cancha install"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			s := complete
			test.cut(&s)
			var text strings.Builder
			last := good
			for _, f := range engineFindings(s) {
				text.WriteString(f.found + " " + f.advice + "\n")
				last = f.verdict
				if f.verdict != good && f.advice == "" {
					t.Errorf("%s: no advice", f.subject)
				}
			}
			if last != test.want {
				t.Errorf("the engine's verdict: got %s, want %s", last, test.want)
			}
			for _, want := range test.says {
				if !strings.Contains(text.String(), want) {
					t.Errorf("got %s, want in it %q", text.String(), want)
				}
			}
		})
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
