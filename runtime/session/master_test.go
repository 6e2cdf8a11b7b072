package session

import (
	"runtime"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestMasterSetting: where queries run is a setting as any other, of which no token is shown; local[n] says how many cores, unless somebody else does.
func TestMasterSetting(t *testing.T) {
	all := strconv.Itoa(runtime.GOMAXPROCS(0))
	for _, c := range []struct{ name, file, variable, argument, want string }{
		{"nobody says", "", "", "", "cancha.master local[*] default; cancha.cores " + all + " default"},
		{"the file", "cancha.master sc://spark:15002", "", "", "cancha.master sc://spark:15002 cancha.conf:1 (cancha.master); cancha.cores " + all + " default"},
		{"the variable", "cancha.master sc://spark", "sc://h:1/;token=s3cret", "", "cancha.master sc://h:1/;token=(hidden) CANCHA_MASTER; cancha.cores " + all + " default"},
		{"the argument", "cancha.master sc://spark", "local[3]", "sc://h/;token=s3cret", "cancha.master sc://h/;token=(hidden) argument; cancha.cores " + all + " default"},
		{"cores of this process", "", "local[3]", "", "cancha.master local[3] CANCHA_MASTER; cancha.cores 3 CANCHA_MASTER"},
		{"cores that are set", "cancha.cores 5", "local[3]", "", "cancha.master local[3] CANCHA_MASTER; cancha.cores 5 cancha.conf:1 (cancha.cores)"},
		{"Spark's, this process", "spark.master local[7]", "", "", "cancha.master local[7] cancha.conf:1 (spark.master); cancha.cores 7 cancha.conf:1 (spark.master)"},
		{"Spark's, with executors", "spark.master local[7]\nspark.executor.cores 2", "", "", "cancha.master local[7] cancha.conf:1 (spark.master); cancha.cores 2 cancha.conf:2 (spark.executor.cores)"},
		{"Spark's, what nobody takes", "spark.master elsewhere", "", "", "cancha.master local[*] default; cancha.cores " + all + " default"},
		{"Spark's, for its clients", "spark.master spark://m:7077\nspark.remote sc://h/;token=s3cret", "", "", "cancha.master sc://h/;token=(hidden) cancha.conf:2 (spark.remote); cancha.cores " + all + " default"},
	} {
		t.Setenv(FileVariable, write(t, "cancha.conf", c.file+"\n"))
		t.Setenv("CANCHA_MASTER", c.variable)
		config, err := Configure(Config{Master: c.argument})
		if got := settingsOf(config, "cancha.master cancha.cores"); err != nil || got != c.want {
			t.Errorf("%s: got %s, %v, want %s", c.name, got, err, c.want)
		}
		if strings.Contains(config.String(), "s3cret") {
			t.Errorf("%s: it shows the secret: %v", c.name, config)
		}
	}
	t.Setenv(FileVariable, write(t, "spark-defaults.conf", "spark.master spark://m:7077\n"))
	t.Setenv("CANCHA_MASTER", "")
	config, err := Environment()
	const from = "spark-defaults.conf:1 (spark.master is what a Spark Connect server is started with; to run queries there: cancha.master sc://HOST:15002)"
	if at := slices.IndexFunc(config.Settings(), func(s Setting) bool {
		return s.Key == "cancha.master" && s.Value == "local[*]" && strings.HasSuffix(s.From, from)
	}); err != nil || at < 0 {
		t.Errorf("Spark's, of a cluster: got %v, %v, want %s", config.Settings(), err, from)
	}
	t.Setenv("CANCHA_MASTER", "sc://h/;token=s3cret")
	if got, err := Environment(); err != nil || got.Master != "sc://h/;token=s3cret" || !strings.HasSuffix(got.String(), ", queries on sc://h/;token=(hidden)") {
		t.Errorf("got %v, %v: who connects needs all of it", got, err)
	}
	if got, err := Master(); err != nil || got != "sc://h/;token=s3cret" {
		t.Errorf("got %q, %v", got, err)
	}
}

// TestMasterRefuses: an error says where, and what to write, and shows no secret.
func TestMasterRefuses(t *testing.T) {
	for text, want := range map[string]string{
		"spark://h:7077":         `CANCHA_MASTER: "spark://h:7077" is what a Spark Connect server is started with: write sc://HOST:15002`,
		"yarn":                   `CANCHA_MASTER: "yarn" is what`,
		"k8s://https://h:6443":   `CANCHA_MASTER: "k8s://https://h:6443" is what`,
		"sc://h/token=s3cret":    "CANCHA_MASTER: ",
		"sc://h:x/;token=s3cret": "the port is no number",
	} {
		t.Setenv("CANCHA_MASTER", text)
		_, err := Environment()
		_, other := Master()
		for _, err := range []error{err, other} {
			if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "s3cret") {
				t.Errorf("%q: got %v, want %s", text, err, want)
			}
		}
	}
	t.Setenv("CANCHA_MASTER", "")
	t.Setenv(FileVariable, write(t, "cancha.conf", "cancha.device tpu\ncancha.master yarn\n"))
	if _, err := Master(); err == nil || !strings.Contains(err.Error(), "cancha.conf:2 (cancha.master)") {
		t.Errorf("got %v", err)
	}
}

// TestSparkSettings: what the file says of Spark, the later of two, but for where Spark is.
func TestSparkSettings(t *testing.T) {
	file := write(t, "spark-defaults.conf", "spark.master spark://m:7077\nspark.sql.shuffle.partitions 8\nspark.remote sc://h\ncancha.cores 2\n"+
		"spark.executor.memory 4g\nspark.sql.shuffle.partitions 9\n")
	t.Setenv(FileVariable, file)
	got, err := SparkSettings()
	want := []Setting{{"spark.executor.memory", "4g", file + ":5 (spark.executor.memory)"}, {"spark.sql.shuffle.partitions", "9", file + ":6 (spark.sql.shuffle.partitions)"}}
	if err != nil || !slices.Equal(got, want) {
		t.Errorf("got %v, %v, want %v", got, err, want)
	}
	t.Setenv(FileVariable, file+".none")
	if got, err := SparkSettings(); err == nil || !strings.Contains(err.Error(), FileVariable) {
		t.Errorf("a file that is not there: %v, %v", got, err)
	}
	t.Setenv(FileVariable, "")
	t.Chdir(t.TempDir())
	if got, err := SparkSettings(); err != nil || len(got) > 0 {
		t.Errorf("without a file: %v, %v", got, err)
	}
}
