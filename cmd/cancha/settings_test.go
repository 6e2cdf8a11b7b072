//go:build !windows

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
	"testing/fstest"

	"cancha/runtime/gpu"
	"cancha/runtime/session/conf"
)

// TestCheckSettings: of a cluster that loses its executors each cause is named with its line, and the mended one passes.
func TestCheckSettings(t *testing.T) {
	lost := `# one worker, one GPU
spark.master                      spark://spark-master:7077
spark.plugins                     com.nvidia.spark.SQLPlugin
spark.executor.resource.gpu.amount 1
spark.worker.resource.gpu.amount  1
spark.worker.resource.gpu.discoveryScript /opt/spark/getGpusResources.sh
spark.task.resource.gpu.amount    0.25
spark.executor.memory             8g
spark.executor.cores              4
spark.executor.instances          1
spark.driver.memory               6g
`
	mended := strings.Replace(lost, "0.25", "1.0", 1) + "spark.cores.max 4\n"
	for _, test := range []struct {
		name, text, machine string
		want                []string
		fails               bool
	}{
		{"lost", lost, "16g", []string{"FAIL  line 7, spark.task.resource.gpu.amount 0.25: 4 tasks share a GPU", "FAIL  line 9, spark.executor.cores 4: spark.cores.max is not set"}, true},
		{"mended", mended, "16g", []string{"ok ", "cancha.device        gpu", "cancha.memory        14g", "cancha.cores         4"}, false},
		{"on a smaller machine", mended, "8g", []string{"FAIL  line 8, spark.executor.memory 8g: driver 6g and 1 × executor 8g are 14g, and the machine has 8g"}, true},
		{"ours", "cancha.device tpu\n", "", []string{`"tpu": choose one of auto, gpu, cpu`}, true},
		{"ours, on a small machine", "cancha.device cpu\n", "1g", []string{"ok ", "cancha.device        cpu"}, false},
		{"a token", mended + "spark.remote sc://h:1/;token=s3cret\nspark.remote sc://h:2/;token=s3cret\n", "16g", []string{"warn  line 13, spark.remote sc://h:1/;token=(hidden)", "line 14 says", "cancha.master        sc://h:2/;token=(hidden)"}, false},
		{"a warning only", mended + "spark.cores.max 4\n", "16g", []string{"warn  line 12", "ok "}, false},
	} {
		t.Run(test.name, func(t *testing.T) {
			name := filepath.Join(t.TempDir(), "spark-defaults.conf")
			if err := os.WriteFile(name, []byte(test.text), 0o600); err != nil {
				t.Fatal(err)
			}
			var out strings.Builder
			err := checkSettings(t.Context(), &out, name, test.machine)
			if (err != nil) != test.fails {
				t.Errorf("got %v", err)
			}
			if strings.Contains(out.String(), "s3cret") {
				t.Errorf("it shows the token:\n%s", out.String())
			}
			for _, want := range test.want {
				if !strings.Contains(out.String(), want) {
					t.Errorf("got\n%swant %q in it", out.String(), want)
				}
			}
		})
	}
	if err := checkSettings(t.Context(), os.Stderr, filepath.Join(t.TempDir(), "none"), ""); err == nil {
		t.Error("a file that is not there passed")
	}
	found := gpu.Discover(t.Context())
	own := conf.Machine{GPUs: len(found.Devices), GPUsKnown: gpu.Linked()}
	if m, err := settingsMachine(t.Context(), ""); err != nil || m.GPUs != own.GPUs || m.GPUsKnown != own.GPUsKnown {
		t.Errorf("this machine: got %+v, %v, want the GPUs of %v", m, err, found)
	}
	if m, err := settingsMachine(t.Context(), "1g"); err != nil || m != (conf.Machine{Memory: 1 << 30}) {
		t.Errorf("a machine of 1g: got %+v, %v", m, err)
	}
	if n, err := machineMemory(""); err != nil || n < 1<<28 {
		t.Errorf("this machine: got %d bytes, %v", n, err)
	}
	if _, err := machineMemory("much"); err == nil {
		t.Error("a size that is none passed")
	}
}

// TestMemoryOf: a container's limit counts where it is less than the machine has.
func TestMemoryOf(t *testing.T) {
	const info, two, one = "proc/meminfo", "sys/fs/cgroup/memory.max", "sys/fs/cgroup/memory/memory.limit_in_bytes"
	const sixteen = "MemFree: 1 kB\nMemTotal:       16777216 kB\n"
	for _, test := range []struct {
		name  string
		files map[string]string
		want  int64
	}{
		{"machine", map[string]string{info: sixteen}, 16 << 30},
		{"no limit, version 2", map[string]string{info: sixteen, two: "max\n"}, 16 << 30},
		{"no limit, version 1", map[string]string{info: sixteen, one: "9223372036854771712\n"}, 16 << 30},
		{"limit, version 2", map[string]string{info: sixteen, two: "4294967296\n"}, 4 << 30},
		{"limit, version 1", map[string]string{info: sixteen, one: "2147483648\n"}, 2 << 30},
		{"nothing is told", nil, 0},
	} {
		files := fstest.MapFS{}
		for name, text := range test.files {
			files[name] = &fstest.MapFile{Data: []byte(text)}
		}
		if got, err := memoryOf(files); err != nil || got != test.want {
			t.Errorf("%s: got %d, %v, want %d", test.name, got, err, test.want)
		}
	}
}
