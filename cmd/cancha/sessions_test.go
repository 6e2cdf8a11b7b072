//go:build !windows

package main

import (
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cancha/runtime/session"
)

func TestJudgeDevice(t *testing.T) {
	for _, test := range []struct {
		conf string
		gpus int
		want verdict
		text string
	}{
		{"", 0, good, "auto, by default: the CPU, as no GPU is found"},
		{"", 1, good, "auto, by default"},
		{"cancha.device gpu", 1, good, "cancha.conf:1 (cancha.device)"},
		{"cancha.device gpu", 0, warning, "no GPU is found: operations run on the CPU"},
		{"#spark.plugins com.nvidia.spark.SQLPlugin\nspark.executor.memory 8g", 1, good, "cpu, by cancha.conf (no spark.plugins)"},
	} {
		t.Chdir(t.TempDir())
		if err := os.WriteFile(session.DefaultFile, []byte(test.conf), 0o600); err != nil {
			t.Fatal(err)
		}
		c, err := session.Environment()
		if err != nil {
			t.Fatal(err)
		}
		f := judgeDevice(c, test.gpus)
		if f.verdict != test.want || !strings.Contains(f.found, test.text) || (f.advice == "") != (f.verdict == good) {
			t.Errorf("%q with %d GPUs: got %+v, want %s with %q", test.conf, test.gpus, f, test.want, test.text)
		}
	}
}

func TestCheckSessions(t *testing.T) {
	folder := t.TempDir()
	t.Setenv("JUPYTER_RUNTIME_DIR", folder)
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
	write := func(kernel, state string, at net.Listener) {
		port := at.Addr().(*net.TCPAddr).Port
		text := fmt.Sprintf(`{"shell_port":1,"iopub_port":2,"stdin_port":3,"control_port":4,"hb_port":%d,"key":"k","kernel_name":%q}`, port, kernel)
		if err := os.WriteFile(filepath.Join(folder, "kernel-"+kernel+state+".json"), []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write("cancha", "up", up)
	write("cancha", "left-behind", down)
	write("python3", "up", up)
	found := checkSessions(t.Context())
	if len(found) != 1 || found[0].found != "1 of cancha, 1 of other kernels" {
		t.Errorf("found %+v", found)
	}
}
