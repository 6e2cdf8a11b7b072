package monitor_test

import (
	"encoding/json"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestMetrics: what Prometheus reads has a line for each kind of thing, and names as they are.
func TestMetrics(t *testing.T) {
	text := newSite(t).get("metrics")
	for _, want := range []string{
		`cancha_streaming_input_rows_total{id="1",query="<img src=x onerror=alert(1)>&\"'"} 5000`, `cancha_running{kind="query"} 1`,
		`cancha_ended_total{kind="fit",state="FAILED"} 1`, `cancha_ended_total{kind="query",state="FAILED"} 0`, `cancha_build_info{version="1.2.3"} 1`, "go_goroutines ", "process_resident_memory_bytes ",
	} {
		if !strings.Contains(text, want) {
			t.Errorf("no %s in\n%s", want, text)
		}
	}
}

// listed are the metrics of deploy/metrics.txt, those of jobs and of RabbitMQ, and the series that histograms have, each with its labels.
func listed(t *testing.T) (names []string, series map[string][]string) {
	t.Helper()
	text, err := os.ReadFile("../../deploy/metrics.txt")
	if err != nil {
		t.Fatal(err)
	}
	series = map[string][]string{}
	for line := range strings.Lines(string(text)) {
		if line = strings.TrimSpace(line); line == "" || line[0] == '#' {
			continue
		}
		fields := strings.Split(line, "|")
		for i, f := range fields {
			fields[i] = strings.TrimSpace(f)
		}
		if len(fields) != 4 || !slices.Contains([]string{"counter", "gauge", "histogram"}, fields[1]) || series[fields[0]] != nil {
			t.Errorf("deploy/metrics.txt: %q is no line, or the name's second", line)
			continue
		}
		labels := append(strings.FieldsFunc(fields[2], func(r rune) bool { return r == ' ' || r == ',' }), "job", "instance") // Prometheus sets these
		names, series[fields[0]] = append(names, fields[0]), labels
		if fields[1] == "histogram" {
			for _, end := range []string{"_bucket", "_sum", "_count"} {
				series[fields[0]+end] = append(slices.Clone(labels), "le")
			}
		}
	}
	return names, series
}

// TestDeploy: each expression below deploy/ names metrics that the page has, or that deploy/metrics.txt lists.
func TestDeploy(t *testing.T) {
	text := newSite(t).get("metrics")
	there := map[string]bool{}
	for _, m := range regexp.MustCompile(`(?m)^([a-z_]+)[{ ]`).FindAllStringSubmatch(text, -1) {
		there[m[1]] = true
	}
	names, series := listed(t)
	for name := range series {
		if there[name] {
			t.Errorf("deploy/metrics.txt lists %s, which is the page's", name)
		}
	}
	used := map[string]bool{}
	expressions, selectors := 0, 0
	for file, list := range deployed(t) {
		for _, e := range list {
			expressions++
			names := metricsOf(e)
			if len(names) == 0 {
				t.Errorf("%s: %s names no metric", file, e)
			}
			for _, name := range names {
				used[name] = true
				if !there[name] && series[name] == nil {
					t.Errorf("%s: %s: there is no metric %s", file, e, name)
				}
			}
		}
	}
	for file, list := range deployed(t) {
		for _, e := range list {
			for _, m := range regexp.MustCompile(`(\w+)\{([^}]*)\}`).FindAllStringSubmatch(e, -1) {
				for _, label := range regexp.MustCompile(`(\w+)\s*(?:=~|!~|!=|=)`).FindAllStringSubmatch(m[2], -1) {
					selectors++
					if labels := series[m[1]]; labels != nil && !slices.Contains(labels, label[1]) {
						t.Errorf("%s: %s: %s has no label %s", file, e, m[1], label[1])
					}
				}
			}
		}
	}
	if expressions < 100 || selectors < 50 {
		t.Errorf("%d expressions with %d labels seen: the files have been misread", expressions, selectors)
	}
	for name := range there {
		if strings.HasPrefix(name, "cancha_") && !used[name] {
			t.Errorf("nothing below deploy/ shows %s", name)
		}
	}
	for _, name := range names {
		if !used[name] && !used[name+"_bucket"] {
			t.Errorf("nothing below deploy/ shows %s, which deploy/metrics.txt lists", name)
		}
	}
}

// TestDashboardShowsAlerts: what a person is alerted of, the dashboard shows.
func TestDashboardShowsAlerts(t *testing.T) {
	all := deployed(t)
	for rules, dashboard := range map[string]string{"alerts.yml": "cancha.json", "jobs.yml": "jobs.json"} {
		shown := map[string]bool{}
		for _, e := range all["grafana/dashboards/"+dashboard] {
			for _, name := range metricsOf(e) {
				shown[name] = true
			}
		}
		alerts := all["prometheus/"+rules]
		if len(alerts) < 10 {
			t.Errorf("%s has %d rules", rules, len(alerts))
		}
		for _, e := range alerts {
			for _, name := range metricsOf(e) {
				if !shown[name] {
					t.Errorf("%s: no panel of %s shows %s", e, dashboard, name)
				}
			}
		}
	}
}

// TestAlerts: promtool, where it is installed, finds that the rules fire for what the files of testdata tell.
func TestAlerts(t *testing.T) {
	promtool, err := exec.LookPath("promtool")
	if err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"testdata/alerts.yml", "testdata/jobs.yml"} {
		if said, err := exec.CommandContext(t.Context(), promtool, "test", "rules", name).CombinedOutput(); err != nil {
			t.Errorf("%s: %v: %s", name, err, said)
		}
	}
}

// deployed are the expressions of all files below deploy/: those of rules, and of what KEDA asks, in a line, those of dashboards at any depth.
func deployed(t *testing.T) map[string][]string {
	t.Helper()
	tree, all := os.DirFS("../../deploy"), map[string][]string{}
	err := fs.WalkDir(tree, ".", func(name string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		text, err := fs.ReadFile(tree, name)
		if err != nil {
			return err
		}
		if strings.HasSuffix(name, ".json") {
			var dashboard any
			if err := json.Unmarshal(text, &dashboard); err != nil {
				return err
			}
			all[name] = expressionsIn(dashboard)
			return nil
		}
		if !strings.HasSuffix(name, ".yml") && !strings.HasSuffix(name, ".yaml") {
			return nil
		}
		for _, m := range regexp.MustCompile(`(?m)^\s*(?:- )?(?:expr|query): (.*)$`).FindAllStringSubmatch(string(text), -1) {
			all[name] = append(all[name], m[1])
		}
		if n := strings.Count(string(text), "expr:") + strings.Count(string(text), " query:"); n != len(all[name]) {
			t.Errorf("%s: %d of %d expressions are each in a line", name, len(all[name]), n)
		}
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	return all
}

func expressionsIn(tree any) (all []string) {
	switch v := tree.(type) {
	case map[string]any:
		for _, key := range slices.Sorted(maps.Keys(v)) {
			if text, ok := v[key].(string); ok && (key == "expr" || key == "definition") {
				all = append(all, text)
				continue
			}
			all = append(all, expressionsIn(v[key])...)
		}
	case []any:
		for _, each := range v {
			all = append(all, expressionsIn(each)...)
		}
	}
	return all
}

// metricsOf are the names in an expression that are no functions, operators or labels.
func metricsOf(expression string) (names []string) {
	if m := regexp.MustCompile(`^label_values\(([a-z_]+)`).FindStringSubmatch(expression); m != nil {
		return m[1:]
	}
	for _, gone := range []string{`"[^"]*"`, `\{[^}]*\}`, `\[[^\]]*\]`, `\boffset\s+\w+`, `\b(by|without|on|ignoring|group_left|group_right)\s*\([^)]*\)`, `[a-z_]+\s*\(`} {
		expression = regexp.MustCompile(gone).ReplaceAllString(expression, " ")
	}
	for _, name := range regexp.MustCompile(`[a-zA-Z_:][a-zA-Z0-9_:]*`).FindAllString(expression, -1) {
		if !slices.Contains([]string{"and", "or", "unless", "bool", "group_left", "group_right"}, name) {
			names = append(names, name)
		}
	}
	return names
}

func TestMetricsOf(t *testing.T) {
	for expression, want := range map[string]string{
		`rate(a_total{x="b_total"}[5m]) > 0.05 * rate(c_total[5m])`: "a_total c_total",
		`sum by (kind) (a) / on (x) group_left b and c > 1`:         "a b c",
		`a > 0 unless last_over_time(b[1h] offset 5m)`:              "a b",
		`time() - a`:                "a",
		`label_values(a{b="c"}, d)`: "a",
	} {
		if got := strings.Join(metricsOf(expression), " "); got != want {
			t.Errorf("%s: got %s, want %s", expression, got, want)
		}
	}
}
