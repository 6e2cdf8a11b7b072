//go:build !windows

package main

import (
	"os"
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
	up, down := listening(t), refusing(t)
	connectionFile(t, folder, "kernel-1.json", "cancha", "k", up)
	connectionFile(t, folder, "kernel-left-behind.json", "cancha", "k", down)
	connectionFile(t, folder, "kernel-2.json", "python3", "k", up)
	found := checkSessions(t.Context())
	if len(found) != 1 || found[0].found != "1 of cancha, 1 of other kernels" {
		t.Errorf("found %+v", found)
	}
}
