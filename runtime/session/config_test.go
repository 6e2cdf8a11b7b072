package session

import (
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

func TestEnvironment(t *testing.T) {
	folder := t.TempDir()
	file := filepath.Join(folder, "file")
	if err := os.WriteFile(file, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ name, brokers, data, want, err string }{
		{"nothing", "", "", "embedded broker, no data folder", ""},
		{"all", "a:1, b:2,", folder, "brokers a:1, b:2, data in " + folder, ""},
		{"no port", "a", "", "", `KAFKA_BROKERS: "a" has no port`},
		{"no folder", "", folder + "x", "", "CANCHA_DATA: stat"},
		{"a file", "", file, "", "is no folder"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv(BrokersVariable, c.brokers)
			t.Setenv(DataVariable, c.data)
			got, err := Environment()
			if c.err != "" {
				if err == nil || !strings.Contains(err.Error(), c.err) {
					t.Errorf("got %v, want %s", err, c.err)
				}
				return
			}
			if err != nil || got.Cores != runtime.GOMAXPROCS(0) || !strings.HasSuffix(got.String(), " cores, "+c.want) {
				t.Errorf("got %v, %v, want %s", got, err, c.want)
			}
		})
	}
}

// write makes a file in a folder of its own and returns its path.
func write(t *testing.T, name, text string) string {
	t.Helper()
	path := filepath.Join(t.TempDir(), name)
	if err := os.WriteFile(path, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return path
}

// settingsOf returns some settings as "key value from".
func settingsOf(c Config, keys string) string {
	var found []string
	for _, s := range c.Settings() {
		if strings.Contains(keys, s.Key) {
			found = append(found, s.Key+" "+s.Value+" "+filepath.Base(s.From))
		}
	}
	return strings.Join(found, "; ")
}

// TestConfigure: the argument counts before the variable, that before the file, and in it our setting before Spark's.
func TestConfigure(t *testing.T) {
	path := write(t, "cancha.conf", "spark.plugins com.nvidia.spark.SQLPlugin\nspark.executor.cores 4\nspark.executor.memory 8g\nspark.driver.memory 6g\ncancha.gpu.pinned 1g\nspark.rapids.memory.pinnedPool.size 2g\n")
	t.Setenv(FileVariable, path)
	c, err := Environment()
	if want := "cancha.device gpu cancha.conf:1 (spark.plugins); cancha.memory 16g cancha.conf:3 (spark.executor.memory); cancha.gpu.pinned 1g cancha.conf:5 (cancha.gpu.pinned)"; err != nil || settingsOf(c, "cancha.device cancha.memory cancha.gpu.pinned") != want {
		t.Errorf("the file: got %s, %v, want %s", settingsOf(c, "cancha.device cancha.memory cancha.gpu.pinned"), err, want)
	}
	t.Setenv("CANCHA_DEVICE", "cpu")
	if c, err = Environment(); err != nil || settingsOf(c, "cancha.device") != "cancha.device cpu CANCHA_DEVICE" {
		t.Errorf("the variable: got %s, %v", settingsOf(c, "cancha.device"), err)
	}
	if c, err = Configure(Config{Device: "auto"}); err != nil || settingsOf(c, "cancha.device") != "cancha.device auto argument" {
		t.Errorf("the argument: got %s, %v", settingsOf(c, "cancha.device"), err)
	}
	t.Setenv("CANCHA_DEVICE", "")
	t.Setenv(FileVariable, "")
	t.Chdir(filepath.Dir(path))
	if c, err = Environment(); err != nil || c.Device != "gpu" || c.Cores != 4 {
		t.Errorf("the file in the current folder: got %v, %v", c, err)
	}
	t.Chdir(t.TempDir())
	if c, err = Environment(); err != nil || settingsOf(c, "cancha.device cancha.gpu.explain") != "cancha.device auto default; cancha.gpu.explain all default" {
		t.Errorf("defaults: got %v, %v", c.Settings(), err)
	}
}

// TestDeviceOfACluster: a cluster without the RAPIDS plugin computes on the CPU, whatever the machine has.
func TestDeviceOfACluster(t *testing.T) {
	for text, want := range map[string]string{
		"#spark.plugins com.nvidia.spark.SQLPlugin\n#spark.rapids.sql.enabled true\nspark.executor.memory 8g\n": "cancha.device cpu cancha.conf (no spark.plugins)",
		"spark.master local[*]\n": "cancha.device cpu cancha.conf (no spark.plugins)",
		"spark.plugins com.nvidia.spark.SQLPlugin\nspark.rapids.sql.enabled false\n": "cancha.device cpu cancha.conf:2 (spark.rapids.sql.enabled)",
		"spark.plugins com.nvidia.spark.SQLPlugin\nspark.executor.memory 8g\n":       "cancha.device gpu cancha.conf:1 (spark.plugins)",
		"cancha.cores 2\n": "cancha.device auto default",
		"spark.executor.memory 8g\ncancha.device gpu": "cancha.device gpu cancha.conf:2 (cancha.device)",
		"spark.app.name mine\n":                       "cancha.device auto default",
	} {
		t.Setenv(FileVariable, write(t, "cancha.conf", text))
		if c, err := Environment(); err != nil || settingsOf(c, "cancha.device") != want {
			t.Errorf("%q: got %s, %v, want %s", text, settingsOf(c, "cancha.device"), err, want)
		}
	}
}

// TestMemoryArgument: the memory of a run that has begun is what it is.
func TestMemoryArgument(t *testing.T) {
	t.Setenv("CANCHA_MEMORY", "4GiB")
	if c, err := Configure(Config{Memory: 4 << 30}); err != nil || c.Memory != 4<<30 {
		t.Errorf("as it is: got %d, %v", c.Memory, err)
	}
	for name, c := range map[string]Config{"another": {Memory: 2 << 30}, "less than nothing": {Memory: -7}, "cores": {Cores: -3}, "tasks": {GPUTasks: -2}} {
		if got, err := Configure(c); err == nil {
			t.Errorf("%s: got %v", name, got)
		}
	}
}

func TestConfigureRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"cancha.device tpu":                           `cancha.conf:1 (cancha.device): "tpu": choose one of auto, gpu, cpu`,
		"a 1\ncancha.devise gpu":                      "cancha.conf:2: no setting is called cancha.devise: there are cancha.device,",
		"cancha.cores 0":                              `"0": write a whole number`,
		"cancha.memory much":                          `"much" is no size`,
		"cancha.memory 100m":                          "too little memory",
		"cancha.gpu.amount 2":                         "2: a task takes more than 0",
		"cancha.gpu.amount 0.5\ncancha.gpu.tasks 3":   "cancha.conf:2 (cancha.gpu.tasks): 3 tasks at once, each with 0.5",
		"cancha.gpu.required true\ncancha.device cpu": "a GPU is required, and the device is cpu",
		"cancha.gpu.tf32 perhaps":                     `"perhaps" is neither true nor false`,
		"cancha.brokers nowhere":                      `"nowhere" has no port`,
	} {
		t.Setenv(FileVariable, write(t, "cancha.conf", text+"\n"))
		if c, err := Environment(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%q: got %v, %v, want %s", text, c, err, want)
		}
	}
	t.Setenv(FileVariable, write(t, "cancha.conf", "cancha.devise gpu\ncancha.core 1\ncancha.device tpu\ncancha.gpu.amount 2\ncancha.gpu.tasks 1\n"))
	t.Setenv("CANCHA_MEMORY", "garbage")
	_, err := Environment()
	if err == nil {
		t.Fatal("five wrong settings passed")
	}
	for _, want := range []string{"called cancha.devise", "called cancha.core:", `"tpu"`, "2: a task takes", `CANCHA_MEMORY: "garbage"`} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("of five wrong settings it does not tell %q: %v", want, err)
		}
	}
	if n := strings.Count(err.Error(), "\n"); n != 4 {
		t.Errorf("five wrong settings are %d lines: %v", n+1, err)
	}
	t.Setenv("CANCHA_MEMORY", "")
	t.Setenv(FileVariable, filepath.Join(t.TempDir(), "none"))
	if _, err := Environment(); err == nil || !strings.Contains(err.Error(), FileVariable) {
		t.Errorf("a file that is not there: got %v", err)
	}
	t.Setenv(FileVariable, "")
	if _, err := Configure(Config{Device: "tpu"}); err == nil || !strings.Contains(err.Error(), "argument") {
		t.Errorf("an argument: got %v", err)
	}
}

// TestConcurrentTasks: what Spark lets in at once, too.
func TestConcurrentTasks(t *testing.T) {
	for text, want := range map[string]int{
		"": 1, "cancha.gpu.amount 0.25": 4, "cancha.gpu.amount 0.1": 10, "cancha.gpu.amount 0.25\ncancha.gpu.tasks 2": 2,
		"spark.task.resource.gpu.amount 0.25\nspark.rapids.sql.concurrentGpuTasks 8": 4, "spark.rapids.sql.concurrentGpuTasks 2": 1,
	} {
		t.Setenv(FileVariable, write(t, "spark-defaults.conf", text+"\n"))
		if c, err := Environment(); err != nil || c.ConcurrentTasks() != want {
			t.Errorf("%q: got %d, %v, want %d", text, c.ConcurrentTasks(), err, want)
		}
	}
}
