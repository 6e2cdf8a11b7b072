package conf

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"cancha/internal/alloctest"
)

func parse(t *testing.T, text string) *File {
	t.Helper()
	f, err := Parse("test.conf", strings.NewReader(text))
	if err != nil {
		t.Fatal(err)
	}
	return f
}

// TestParse: what java.util.Properties makes of the same lines.
func TestParse(t *testing.T) {
	f := parse(t, "# a comment\n! another\n\n  spark.a   1 \nspark.b=2\nspark.c : 3\nspark.d\nspark.e one \\\n   two\nspark.f C:\\\\x\\ty\\u00e9 # no comment\nk\\ ey value\nspark.a 4")
	var got strings.Builder
	for _, s := range f.Settings {
		fmt.Fprintf(&got, "%d %s=%q\n", s.Line, s.Key, s.Value)
	}
	want := `4 spark.a="1"
5 spark.b="2"
6 spark.c="3"
7 spark.d=""
8 spark.e="one two"
10 spark.f="C:\\x\tyé # no comment"
11 k ey="value"
12 spark.a="4"
`
	if got.String() != want {
		t.Errorf("got\n%swant\n%s", got.String(), want)
	}
	if s, ok := f.Get("spark.a"); !ok || s.Value != "4" {
		t.Errorf("of two settings: got %+v", s)
	}
}

func TestParseWithAByteOrderMark(t *testing.T) {
	for _, text := range []string{"\ufeffspark.a 1\nspark.b 2", "\ufeff# a comment\nspark.a 1\nspark.b 2", "\ufeff\nspark.a 1\nspark.b 2"} {
		f := parse(t, text)
		if s, ok := f.Get("spark.a"); !ok || s.Value != "1" || len(f.Settings) != 2 {
			t.Errorf("%q: got %+v", text, f.Settings)
		}
	}
}

func TestParseRefuses(t *testing.T) {
	for name, text := range map[string]string{
		"test.conf:2: \\u wants": "a 1\nb \\u12",
		"test.conf:1: not UTF-8": "a \xff\n",
		"larger than":            strings.Repeat("spark.a.setting 1\n", maxFile/16),
		"no file of settings":    strings.Repeat("a", maxFile+2),
	} {
		if _, err := Parse("test.conf", strings.NewReader(text)); err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("got %v, want %q", err, name)
		}
	}
	if _, err := Read(filepath.Join(t.TempDir(), "none.conf")); err == nil || !strings.Contains(err.Error(), "none.conf") {
		t.Errorf("a file that is not there: got %v", err)
	}
}

func TestBytes(t *testing.T) {
	for text, want := range map[string]int64{"8g": 8 << 30, "512M": 512 << 20, "2gb": 2 << 30, "7": 7 << 20, "7b": 7, "0": 0, " 1k ": 1 << 10, "1t": 1 << 40} {
		if got, err := Bytes(text, 1<<20); err != nil || got != want {
			t.Errorf("%q: got %d, %v, want %d", text, got, err, want)
		}
	}
	for _, text := range []string{"", "g", "1.5g", "-1g", "8 apples", "9999999999g", "1gg", "8x", "8 g", "+1g", "+8"} {
		if got, err := Bytes(text, 1); err == nil {
			t.Errorf("%q: got %d", text, got)
		}
	}
	for n, want := range map[int64]string{0: "0", 8 << 30: "8g", 1536 << 20: "1536m", 7: "7"} {
		if got := FormatBytes(n); got != want {
			t.Errorf("%d: got %s, want %s", n, got, want)
		}
	}
}

// cluster is a configuration of one worker with one GPU that is as it should be.
const cluster = `spark.master spark://spark-master:7077
spark.plugins com.nvidia.spark.SQLPlugin
spark.rapids.sql.enabled true
spark.rapids.memory.pinnedPool.size 2G
spark.executor.resource.gpu.amount 1
spark.task.resource.gpu.amount 1.0
spark.worker.resource.gpu.amount 1
spark.worker.resource.gpu.discoveryScript /opt/spark/getGpusResources.sh
spark.executor.memory 8g
spark.executor.cores 4
spark.executor.instances 1
spark.cores.max 4
spark.driver.memory 6g
spark.jars.packages org.apache.spark:spark-sql-kafka-0-10_2.12:3.3.1
spark.jars /opt/rapids-4-spark_2.12-23.12.2.jar
`

// replaceLine replaces the line of a key, or leaves it out.
func replaceLine(text, key, line string) string {
	var lines []string
	for l := range strings.Lines(text) {
		if strings.HasPrefix(l, key+" ") {
			l = line
		}
		lines = append(lines, l)
	}
	return strings.Join(lines, "")
}

func TestFaults(t *testing.T) {
	machine := Machine{Memory: 16 << 30}
	four := replaceLine(replaceLine(cluster, "spark.jars.packages", "spark.jars.packages org.apache.spark:spark-sql-kafka-0-10_2.13:4.0.0\n"),
		"spark.jars", "spark.jars /opt/rapids-4-spark_2.13-25.08.0.jar\n")
	for _, test := range []struct {
		name, text string
		want       []string // line and beginning of each fault, in order
	}{
		{"as it should be", cluster, nil},
		{"nothing", "", nil},
		{"quarters of a GPU, and no limit", replaceLine(replaceLine(cluster, TaskGPUs, TaskGPUs+" 0.25\n"), CoresMax, ""),
			[]string{"6 4 tasks share a GPU, and nothing limits", "10 spark.cores.max is not set: a worker starts an executor for every 4 cores that it has, and the GPUs are for 1 executor (a standalone master does not heed spark.executor.instances, line 11)"}},
		{"quarters, limited", replaceLine(cluster, TaskGPUs, TaskGPUs+" 0.25\n") + ConcurrentTasks + " 2\n", nil},
		{"quarters, one for each core", replaceLine(cluster, TaskGPUs, TaskGPUs+" 0.25\n"), []string{"6 4 tasks share a GPU, and nothing limits"}},
		{"tenths, limited by cores", replaceLine(cluster, TaskGPUs, TaskGPUs+" 0.1\n"), []string{"6 4 tasks share a GPU, and only the cores limit"}},
		{"quarters, of one task", replaceLine(cluster, TaskGPUs, TaskGPUs+" 0.25\nspark.task.cpus 4\n"), nil},
		{"quarters, of one core", replaceLine(replaceLine(cluster, ExecutorCores, ""), CoresMax, CoresMax+" 1\n") + TaskGPUs + " 0.25\n", []string{"6 line 15 says"}},
		{"three quarters", replaceLine(cluster, TaskGPUs, TaskGPUs+" 0.75\n"), []string{"6 Spark takes at most 0.5"}},
		{"three quarters, Spark not named", replaceLine(replaceLine(cluster, TaskGPUs, TaskGPUs+" 0.75\n"), "spark.jars.packages", ""), []string{"6 Spark takes at most 0.5"}},
		{"three quarters, Spark 4", replaceLine(four, TaskGPUs, TaskGPUs+" 0.75\n"), nil},
		{"one and a half, Spark 4", replaceLine(four, TaskGPUs, TaskGPUs+" 1.5\n"), []string{"6 Spark takes at most 1, or a whole number, and refuses 1.5"}},
		{"a task of two", replaceLine(cluster, TaskGPUs, TaskGPUs+" 2\n"), []string{"6 a task asks for 2 GPUs, and an executor has 1"}},
		{"two executors", replaceLine(cluster, CoresMax, CoresMax+" 8\n"), []string{"9 driver 6g and 2 × executor 10g are 26g", "12 8 cores are 2 executors of 4, and the GPUs are for 1 executor"}},
		{"two executors on YARN", replaceLine(replaceLine(cluster, Master, "spark.master yarn\n"), Executors, Executors+" 2\n"),
			[]string{"4 pinned memory of 2g lies in the container's overhead, which is 819m", "9 driver 6g and 2 × executor 9011m are 24166m", "11 2 executors want 2 GPUs, and there are 1"}},
		{"beyond the machine", replaceLine(cluster, ExecutorMemory, ExecutorMemory+" 12g\n"), []string{"9 driver 6g and 1 × executor 14g are 20g, and the machine has 16g"}},
		{"the plugin commented out", replaceLine(replaceLine(cluster, Plugins, ""), RAPIDSEnabled, ""),
			[]string{"4 RAPIDS is off, and what tasks ask of a GPU holds an executor to one task, where its cores are enough for 4 at a time"}},
		{"RAPIDS switched off, of one core", replaceLine(replaceLine(replaceLine(cluster, RAPIDSEnabled, RAPIDSEnabled+" false\n"), ExecutorCores, ExecutorCores+" 1\n"), CoresMax, CoresMax+" 1\n"), nil},
		{"memory off the heap", cluster + OffHeapEnabled + " true\n" + OffHeapSize + " 2g\n", []string{"9 driver 6g and 1 × executor 12g are 18g"}},
		{"memory off the heap that is off", cluster + OffHeapSize + " 2g\n", []string{"16 memory off the heap is not on"}},
		{"memory off the heap without a size", cluster + OffHeapEnabled + " true\n", []string{"16 memory off the heap is on and has no size"}},
		{"what a standalone master does not heed", cluster + PySparkMemory + " 4g\n" + OverheadFactor + " 0.9\n" + MemoryOverhead + " 9g\n", nil},
		{"what a container has", "spark.master k8s://x\n" + ExecutorMemory + " 8g\n" + OverheadFactor + " 0.5\n" + PySparkMemory + " 4g\n", []string{"2 driver 1g and 1 × executor 16g are 17g"}},
		{"pinned memory without RAPIDS", PinnedPool + " 20g\n" + DriverMemory + " 6g\n", nil},
		{"a letter away", cluster + "spark.executor.core 4\nspark.rapids.sql.enabeld false\nspark.driver.Memory 6g\nspark.executr.cores 4\nspark.my.own 1\n",
			[]string{"16 no setting is known by that name, and spark.executor.cores is", "17 no setting is known by that name, and spark.rapids.sql.enabled is", "18 no setting", "19 no setting"}},
		{"no resource of the worker", replaceLine(replaceLine(cluster, WorkerGPUs, ""), WorkerDiscovery, ""), []string{"5 executors ask for 1 GPU, and no worker offers one"}},
		{"less of the worker", replaceLine(cluster, ExecutorGPUs, ExecutorGPUs+" 2\n"), []string{"5 an executor asks for 2 GPUs, and a worker offers 1"}},
		{"no discovery", replaceLine(cluster, WorkerDiscovery, ""), []string{"7 nothing tells a worker"}},
		{"RAPIDS without a GPU", "spark.plugins com.nvidia.spark.SQLPlugin\n", []string{"1 RAPIDS is on, and there is no GPU"}},
		{"RAPIDS without a GPU for executors", "spark.plugins com.nvidia.spark.SQLPlugin\nspark.worker.resource.gpu.amount 1\n", []string{"1 RAPIDS is on, and executors ask for no GPU"}},
		{"RAPIDS in the driver", "spark.master local[*]\nspark.plugins com.nvidia.spark.SQLPlugin\n", []string{"2 RAPIDS is on, and whether the machine has a GPU"}},
		{"RAPIDS without a GPU, on YARN", "spark.master yarn\nspark.plugins com.nvidia.spark.SQLPlugin\n", []string{"2 RAPIDS is on, and executors ask for no GPU"}},
		{"a worker without discovery, on YARN", "spark.master yarn\nspark.worker.resource.gpu.amount 1\n", nil},
		{"RAPIDS off", "spark.plugins com.nvidia.spark.SQLPlugin\nspark.rapids.sql.enabled false\n", nil},
		{"another Spark", replaceLine(cluster, "spark.jars", "spark.jars /opt/rapids-4-spark_2.12-22.10.0.jar\n"), []string{"15 the RAPIDS plugin 22.10.0 is not for Spark 3.3.1 (line 14): it supports 3.1.1-3, 3.2.0-2, 3.3.0"}},
		{"a plugin older than the list", replaceLine(cluster, "spark.jars", "spark.jars /opt/rapids-4-spark_2.12-21.06.0.jar\n"), []string{"15 the RAPIDS plugin 21.06.0 is older than 21.10"}},
		{"a plugin newer than the list", replaceLine(cluster, "spark.jars", "spark.jars /opt/rapids-4-spark_2.12-99.06.0.jar\n"), nil},
		{"on, and not loaded", RAPIDSEnabled + " true\n", []string{"1 nothing loads the RAPIDS plugin"}},
		{"another Scala", replaceLine(cluster, "spark.jars", "spark.jars.packages com.nvidia:rapids-4-spark_2.13:23.12.2\n"), []string{"14 line 15 says", "15 the RAPIDS plugin is for Scala 2.13, and Spark (line 14) for Scala 2.12"}},
		{"the shuffle manager of another Spark", cluster + "spark.shuffle.manager com.nvidia.spark.rapids.spark350.RapidsShuffleManager\n", []string{"16 Spark 3.5.0, and line 14 says 3.3.1"}},
		{"libraries with versions of their own", cluster + "spark.driver.extraClassPath /opt/spark-nlp_2.12-5.1.0.jar:/opt/spark-xml_2.12-0.14.0.jar\n", nil},
		{"no executor", replaceLine(cluster, ExecutorCores, ExecutorCores+" 8\n"), []string{"12 an executor has 8 cores, and the application may take 4"}},
		{"a task of many cores", cluster + "spark.task.cpus 5\n", []string{"16 a task takes 5 cores"}},
		{"no amount", replaceLine(cluster, TaskGPUs, TaskGPUs+" some\n"), []string{"5 executors hold a GPU, and no task", `6 "some" is no amount`}},
		{"a comment behind a value", replaceLine(cluster, TaskGPUs, TaskGPUs+" 1.0 # all of it\n"), []string{`6 Spark takes the comment "#`}},
		{"twice", cluster + CoresMax + " 4\n", []string{"12 line 16 says spark.cores.max 4"}},
	} {
		t.Run(test.name, func(t *testing.T) {
			faults := parse(t, test.text).Faults(machine)
			for i, f := range faults {
				got := fmt.Sprintf("%d %s", f.Line, f.What)
				if i >= len(test.want) || !strings.HasPrefix(got, test.want[i]) {
					t.Errorf("fault %d: got %s", i, got)
				}
				if f.Mend == "" {
					t.Errorf("fault %d has no mend", i)
				}
			}
			if len(faults) != len(test.want) {
				t.Errorf("got %d faults, want %d", len(faults), len(test.want))
			}
		})
	}
}

// TestGPUs: what is not known of the machine's GPUs is a warning at most, and only a standalone master is told of workers.
func TestGPUs(t *testing.T) {
	const local, yarn = "spark.master local[*]\nspark.plugins " + RAPIDSPlugin + "\n", "spark.master yarn\nspark.plugins " + RAPIDSPlugin + "\n"
	const eight = yarn + Executors + " 8\n" + ExecutorGPUs + " 1\n" + TaskGPUs + " 1\n"
	none, one := Machine{GPUsKnown: true}, Machine{GPUs: 1, GPUsKnown: true}
	for _, test := range []struct {
		name, text string
		machine    Machine
		want       string // of the only fault
	}{
		{"local, not known", local, Machine{}, "warning at 2"},
		{"local, none", local, none, "failure at 2"},
		{"local, one", local, one, ""},
		{"YARN, no executor has one", yarn, one, "failure at 2"},
		{"YARN, not known", eight, Machine{}, ""},
		{"YARN, none", eight, none, "failure at 4"},
		{"YARN, one", eight, one, "failure at 3"},
		{"YARN, eight", eight, Machine{GPUs: 8, GPUsKnown: true}, ""},
		{"YARN, one in spite of what workers say", eight + WorkerGPUs + " 8\n", one, "failure at 3"},
		{"standalone, one in each worker", cluster, none, ""},
	} {
		got := ""
		for _, f := range parse(t, test.text).Faults(test.machine) {
			got += map[bool]string{false: "failure", true: "warning"}[f.Warning] + fmt.Sprint(" at ", f.Line)
			if strings.Contains(f.Mend, "spark.worker.") {
				t.Errorf("%s: got a mend of workers: %s", test.name, f.Mend)
			}
		}
		if got != test.want {
			t.Errorf("%s: got %q, want %q", test.name, got, test.want)
		}
	}
}

// TestMemory: what Spark takes where a file does not say counts only in a file that says something of executors.
func TestMemory(t *testing.T) {
	for text, want := range map[string]int{"cancha.device cpu\n": 0, "spark.master yarn\n": 0, Executors + " 4\nspark.master yarn\n": 1, DriverMemory + " 1g\n": 1} {
		if got := parse(t, text).Faults(Machine{Memory: 1 << 30}); len(got) != want {
			t.Errorf("%q: got %v, want %d", text, got, want)
		}
	}
}

// TestFitting: what is proposed fits, and is no more than it was.
func TestFitting(t *testing.T) {
	for _, test := range []struct {
		text string
		want string
	}{
		{replaceLine(cluster, ExecutorMemory, ExecutorMemory+" 12g\n"), ExecutorMemory + " 8g"},
		{replaceLine(cluster, DriverMemory, DriverMemory+" 60g\n"), DriverMemory + " 6g"},
		{replaceLine(replaceLine(cluster, DriverMemory, DriverMemory+" 60g\n"), ExecutorMemory, ExecutorMemory+" 60g\n"), DriverMemory + " 512m and " + ExecutorMemory + " 13824m"},
		{"spark.master local[*]\nspark.driver.memory 20g\n", DriverMemory + " 16g"},
		{cluster + OffHeapEnabled + " true\n" + OffHeapSize + " 20g\n", "a machine with more memory, fewer executors"},
		{"spark.master yarn\nspark.executor.instances 3\nspark.executor.memory 8g\n", ExecutorMemory + " 4608m"},
	} {
		mend := ""
		for _, f := range parse(t, test.text).Faults(Machine{Memory: 16 << 30}) {
			if strings.Contains(f.What, "the machine has") {
				mend = f.Mend
			}
		}
		if !strings.HasPrefix(mend, test.want) {
			t.Errorf("%q: got %q, want %q", test.text, mend, test.want)
			continue
		}
		mended := test.text
		for part := range strings.SplitSeq(mend, " and ") {
			key, _, _ := strings.Cut(part, " ")
			mended = replaceLine(mended, key, "") + part + "\n"
		}
		for _, f := range parse(t, mended).Faults(Machine{Memory: 16 << 30}) {
			if strings.Contains(f.What, "the machine has") && !strings.HasPrefix(mend, "a machine") {
				t.Errorf("%q: what it proposes does not fit: %s", test.text, f.What)
			}
		}
	}
}

// TestCount: only a standalone master heeds spark.cores.max, and only the others spark.executor.instances.
func TestCount(t *testing.T) {
	const asked = Executors + " 8\n"
	for text, want := range map[string]int{
		asked: 1, asked + "spark.master yarn\n": 8, asked + "spark.master local[4]\n": 1,
		asked + CoresMax + " 4\n" + ExecutorCores + " 2\n": 2, asked + CoresMax + " 4\n" + ExecutorCores + " 2\nspark.master yarn\n": 8,
	} {
		if s, _ := parse(t, text).Spark(); s.Count() != want {
			t.Errorf("%q: got %d, want %d", text, s.Count(), want)
		}
	}
}

// TestRefused: what Spark refuses fails and does not count; a comment behind a name is a part of it.
func TestRefused(t *testing.T) {
	for _, test := range []struct {
		line    string
		warning bool
		gets    func(Spark) bool
	}{
		{RAPIDSEnabled + " yes", false, func(s Spark) bool { return s.Enabled }},
		{RAPIDSEnabled + " true # on", false, func(s Spark) bool { return s.Enabled }},
		{ExecutorCores + " 4 # all", false, func(s Spark) bool { return s.ExecutorCores == 4 }},
		{ExecutorMemory + " 8g # most", false, func(s Spark) bool { return s.ExecutorMemory == 8<<30 }},
		{Master + " yarn # or local", true, func(s Spark) bool { return s.Master == "yarn" }},
		{"spark.app.name mine # and yours", true, func(Spark) bool { return true }},
	} {
		s, faults := parse(t, test.line+"\n").Spark()
		if len(faults) != 1 || faults[0].Warning != test.warning || !test.gets(s) {
			t.Errorf("%s: got %+v, %+v", test.line, s, faults)
		}
	}
	if s, _ := parse(t, CoresMax+" 4\n"+CoresMax+" four\n").Spark(); s.CoresMax != 4 {
		t.Errorf("a refused value behind another: got %d", s.CoresMax)
	}
}

// TestSharingMend: what the mend says passes, each part of it alone; without the plugin nothing heeds a limit of tasks.
func TestSharingMend(t *testing.T) {
	text := replaceLine(cluster, TaskGPUs, TaskGPUs+" 0.25\n")
	faults := parse(t, text).Faults(Machine{})
	if len(faults) != 1 {
		t.Fatalf("got %v", faults)
	}
	for mend := range strings.SplitSeq(faults[0].Mend, ", or ") {
		key, _, _ := strings.Cut(mend, " ")
		mended := replaceLine(text, key, "") + mend + "\n"
		if got := parse(t, mended).Faults(Machine{}); len(got) != 0 {
			t.Errorf("%s: got %v", mend, got)
		}
	}
	faults = parse(t, replaceLine(text, Plugins, RAPIDSEnabled+" false\n")).Faults(Machine{})
	if at := len(faults) - 1; at < 0 || faults[at].Key != TaskGPUs || strings.Contains(faults[at].Mend, ConcurrentTasks) {
		t.Errorf("without the plugin: got %v", faults)
	}
}

// TestSupported: every range of the list is one.
func TestSupported(t *testing.T) {
	for plugin, list := range releases() {
		for part := range strings.FieldsSeq(list) {
			first, _, _ := strings.Cut(part, "-")
			if _, yes, known := supported(plugin+".0", first); !yes || !known {
				t.Errorf("plugin %s and Spark %s: got %v, %v", plugin, first, yes, known)
			}
		}
	}
	for _, test := range []struct {
		plugin, spark string
		yes, known    bool
	}{
		{"23.12.2", "3.3.1", true, true}, {"23.12.2", "3.3.4", false, true}, {"23.12.2", "3.4.2", false, true}, {"24.2.0", "3.4.2", true, true},
		{"23.12.2", "3.3.10", false, true}, {"99.1.0", "3.3.1", false, false}, {"23", "3.3.1", false, false},
	} {
		if _, yes, known := supported(test.plugin, test.spark); yes != test.yes || known != test.known {
			t.Errorf("plugin %s and Spark %s: got %v, %v", test.plugin, test.spark, yes, known)
		}
	}
}

func FuzzParse(f *testing.F) {
	f.Add(cluster)
	f.Add("a\\\n")
	f.Fuzz(func(t *testing.T, text string) {
		var faults []Fault
		alloctest.Bounded(t, len(text), func() {
			faults = nil
			if file, err := Parse("fuzz.conf", strings.NewReader(text)); err == nil {
				faults = file.Faults(Machine{Memory: 1 << 30})
			}
		})
		lines := strings.Count(text, "\n") + 1
		for _, fault := range faults {
			if fault.Line > lines || fault.Mend == "" {
				t.Errorf("line %d of %d: %+v", fault.Line, lines, fault)
			}
		}
	})
}

// TestProportion reads what makes most of its bytes.
func TestProportion(t *testing.T) {
	var keys strings.Builder
	for i := range 10_000 {
		fmt.Fprintf(&keys, "spark.key%d value\n", i)
	}
	for name, c := range map[string]struct{ text, want string }{
		"short":      {strings.Repeat("a\n", 100_000), "no file of settings: it has 501 in its first 1002 bytes"},
		"few":        {strings.Repeat("a\n", 500), ""},
		"many":       {keys.String(), ""},
		"repeated":   {strings.Repeat("spark.task.cpus 1\n", 10_000), ""},
		"misspelt":   {strings.Repeat("spark.task.cpu 1\n", 10_000), ""},
		"no numbers": {strings.Repeat("spark.task.cpus x\n", 10_000), ""},
		"going on":   {"a " + strings.Repeat("value\\\n", 100_000), ""},
		"comments":   {strings.Repeat("#\n", 100_000), ""},
		"escapes":    {"a " + strings.Repeat("\\n", 100_000), ""},
		"one line":   {strings.Repeat("a", 500_000), ""},
	} {
		t.Run(name, func(t *testing.T) {
			alloctest.Bounded(t, len(c.text), func() {
				file, err := Parse("x", strings.NewReader(c.text))
				if (err == nil) != (c.want == "") || err != nil && !strings.Contains(err.Error(), c.want) {
					t.Errorf("got %v, want %q", err, c.want)
				}
				if err == nil {
					_ = file.Faults(Machine{Memory: 1 << 30})
				}
			})
		})
	}
}

func TestRead(t *testing.T) {
	name := filepath.Join(t.TempDir(), "spark-defaults.conf")
	if err := os.WriteFile(name, []byte(cluster), 0o600); err != nil {
		t.Fatal(err)
	}
	f, err := Read(name)
	if err != nil {
		t.Fatal(err)
	}
	if s, faults := f.Spark(); s.CoresMax != 4 || s.ExecutorMemory != 8<<30 || !s.RAPIDS() || len(faults) != 0 {
		t.Errorf("got %+v, %v", s, faults)
	}
}
