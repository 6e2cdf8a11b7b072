package lab

import (
	"bufio"
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"
)

// jobServices are what the profiles jobs and gpu start for jobs.
var jobServices = []string{"rabbitmq", "scheduler", "monitor", "cpu-worker", "gpu-worker"}

// with loads the compose file as "docker compose --profile …" does, with settings over those of .env.example.
func with(t *testing.T, set types.Mapping, profiles ...string) (*types.Project, error) {
	t.Helper()
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	environment := settings(t)
	for name, value := range set {
		environment[name] = value
	}
	details := types.ConfigDetails{WorkingDir: dir, ConfigFiles: []types.ConfigFile{{Filename: filepath.Join(dir, "docker-compose.yml")}}, Environment: environment}
	return loader.LoadWithContext(t.Context(), details, func(o *loader.Options) {
		o.SetProjectName("cancha", true)
		o.Profiles = profiles
	})
}

// Each profile alone, and those that belong together, have all that their services wait for.
func TestComposeProfiles(t *testing.T) {
	for profiles, want := range map[string]string{
		"jobs":                   "cpu-worker monitor rabbitmq scheduler",
		"gpu":                    "gpu-worker jupyter-lab-gpu monitor rabbitmq scheduler",
		"observability":          "grafana prometheus",
		"monitoring":             "grafana prometheus",
		"jobs gpu observability": "cpu-worker gpu-worker grafana jupyter-lab-gpu monitor prometheus rabbitmq scheduler",
	} {
		p, err := with(t, nil, strings.Fields(profiles)...)
		if err != nil {
			t.Errorf("%s: %v", profiles, err)
			continue
		}
		got := slices.DeleteFunc(p.ServiceNames(), func(name string) bool { return len(p.Services[name].Profiles) == 0 })
		if !slices.Equal(got, strings.Fields(want)) {
			t.Errorf("%s starts %v, want %s", profiles, got, want)
		}
	}
}

// Who waits waits until the other is healthy, and the roots of all are read-only and their users nobody special.
func TestComposeJobs(t *testing.T) {
	all := services(t)
	for _, name := range jobServices {
		s := all[name]
		if !s.ReadOnly || s.User == "" || strings.HasPrefix(s.User, "0") || s.StopGracePeriod == nil || s.HealthCheck == nil {
			t.Errorf("%s: read-only %v, user %q, grace %v, check %v", name, s.ReadOnly, s.User, s.StopGracePeriod, s.HealthCheck)
		}
		want := map[string][]string{"scheduler": {"rabbitmq"}, "monitor": {"rabbitmq", "scheduler"}, "cpu-worker": {"rabbitmq", "scheduler"}, "gpu-worker": {"rabbitmq", "scheduler"}}[name]
		for _, other := range want {
			if s.DependsOn[other].Condition != types.ServiceConditionHealthy {
				t.Errorf("%s starts when %s is %q", name, other, s.DependsOn[other].Condition)
			}
		}
		if len(s.DependsOn) != len(want) {
			t.Errorf("%s waits for %v, want %v", name, s.DependsOn, want)
		}
	}
	for name, want := range map[string]string{"scheduler": "scheduler", "monitor": "monitor -all -o /data/results.jsonl", "cpu-worker": "worker -type cpu -drain 4m45s", "gpu-worker": "cancha worker -type gpu -drain 4m45s"} {
		if got := strings.Join(all[name].Command, " "); got != want {
			t.Errorf("%s runs %q, want %q", name, got, want)
		}
	}
	if limits := all["cpu-worker"].Deploy.Resources.Limits; limits.MemoryBytes != 4<<30 {
		t.Errorf("a worker has %d bytes, the original's had 4 GB", limits.MemoryBytes)
	}
	devices := all["gpu-worker"].Deploy.Resources.Reservations.Devices
	if len(devices) != 1 || devices[0].Driver != "nvidia" || devices[0].Count != 1 || !slices.Equal(devices[0].Capabilities, []string{"gpu"}) {
		t.Errorf("gpu-worker reserves %+v", devices)
	}
	for _, name := range []string{"cpu-worker", "gpu-worker"} {
		command := all[name].Command
		drain, err := time.ParseDuration(command[len(command)-1])
		if grace := time.Duration(*all[name].StopGracePeriod); err != nil || drain < time.Minute || grace < drain+10*time.Second {
			t.Errorf("%s waits %v for its jobs, and is killed after %v: %v", name, drain, grace, err)
		}
	}
	rabbit := all["rabbitmq"]
	if rabbit.Hostname == "" {
		t.Error("rabbitmq has another name each time, and its data lies below that")
	}
	for _, name := range []string{"rabbitmq", "scheduler", "monitor"} {
		if !slices.ContainsFunc(all[name].Volumes, func(v types.ServiceVolumeConfig) bool { return v.Type == types.VolumeTypeVolume }) {
			t.Errorf("%s keeps nothing", name)
		}
	}
}

// The services of jobs are on a network of their own, with those alone that submit jobs or watch them; the results lie where one says.
func TestComposeJobsNetwork(t *testing.T) {
	p, err := with(t, types.Mapping{"RESULTS_DIR": "./results"}, "jobs", "gpu", "observability", "spark", "account")
	if err != nil {
		t.Fatal(err)
	}
	both := []string{"jupyter-lab", "jupyter-lab-gpu", "prometheus"}
	for name, s := range p.Services {
		_, jobs := s.Networks["gpu-cluster"]
		_, others := s.Networks["default"]
		of := slices.Contains(jobServices, name)
		if jobs != (of || slices.Contains(both, name)) || others == of {
			t.Errorf("%s: on the network of jobs %v, on the other one %v", name, jobs, others)
		}
	}
	if v := p.Services["monitor"].Volumes[0]; v.Type != types.VolumeTypeBind || filepath.Base(v.Source) != "results" || v.Target != "/data" {
		t.Errorf("results go to %+v", v)
	}
	if user := services(t)["rabbitmq"].Environment["RABBITMQ_DEFAULT_USER"]; user == nil || *user != "admin" {
		t.Errorf("RabbitMQ's user is %v, and the original's is admin", user)
	}
}

// The name and the password of RabbitMQ reach all who need them, from the environment; none is in the file.
func TestComposeJobsSecrets(t *testing.T) {
	const password, token = "a word of this test", "another word of this test"
	p, err := with(t, types.Mapping{"RABBITMQ_PASS": password, "CANCHA_JOBS_TOKEN": token}, "jobs", "gpu", "observability")
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range jobServices {
		key, env := "RABBITMQ_PASS", p.Services[name].Environment
		if name == "rabbitmq" {
			key = "RABBITMQ_DEFAULT_PASS"
		} else if host := env["RABBITMQ_HOST"]; host == nil || p.Services[*host].Name == "" {
			t.Errorf("%s is told of no broker that is there", name)
		}
		if got := env[key]; got == nil || *got != password {
			t.Errorf("%s has not the password", name)
		}
		if got := services(t)[name].Environment[key]; got == nil || *got != "" {
			t.Errorf("%s has a password that nobody has set", name)
		}
	}
	if got := p.Services["scheduler"].Environment["CANCHA_JOBS_TOKEN"]; got == nil || *got != token {
		t.Error("the scheduler has not the token")
	}
	prometheus := services(t)["prometheus"]
	if _, ok := prometheus.Environment["CANCHA_JOBS_TOKEN"]; !ok || !strings.Contains(strings.Join(prometheus.Entrypoint, " "), `"$CANCHA_JOBS_TOKEN" > /run/tokens/jobs;`) ||
		!strings.Contains(read(t, "deploy/prometheus/prometheus.yml"), "credentials_file: /run/tokens/jobs\n") {
		t.Error("Prometheus has not the scheduler's token")
	}
}

// Prometheus finds the scheduler and RabbitMQ by the names and at the ports that they have.
func TestComposeScrapes(t *testing.T) {
	prometheus := read(t, "deploy/prometheus/prometheus.yml")
	_, rules, _ := strings.Cut(prometheus, "rule_files:\n")
	rules, _, _ = strings.Cut(rules, "\n\n")
	for line := range strings.Lines(rules) {
		if _, err := os.Stat(filepath.Join(root, "deploy/prometheus", strings.TrimPrefix(strings.TrimSpace(line), "- "))); err != nil {
			t.Error(err)
		}
	}
	found := map[string]string{}
	for _, m := range regexp.MustCompile(`\{names: \[(\w+)\], type: A, port: (\d+),`).FindAllStringSubmatch(prometheus, -1) {
		found[m[1]] = m[2]
	}
	conf := read(t, "deploy/rabbitmq/rabbitmq.conf")
	if got, want := fmt.Sprint(found), "map[rabbitmq:15692 scheduler:8000]"; got != want || !strings.Contains(conf, "prometheus.tcp.port = 15692\n") {
		t.Errorf("Prometheus looks for %s, want %s, and RabbitMQ's is set", got, want)
	}
	scheduler := services(t)["scheduler"]
	if http := scheduler.Environment["CANCHA_JOBS_HTTP"]; http == nil || *http != "0.0.0.0:8000" || scheduler.Ports[0].Target != 8000 {
		t.Errorf("the scheduler listens elsewhere: %+v", scheduler.Ports)
	}
	if plugins := read(t, "deploy/rabbitmq/enabled_plugins"); plugins != "[rabbitmq_management,rabbitmq_prometheus].\n" {
		t.Errorf("RabbitMQ's plugins are %s", plugins)
	}
}

// RabbitMQ's alarm comes before the container's limit, and its deadline for a job is one that long jobs keep.
func TestRabbitConf(t *testing.T) {
	set := map[string]string{}
	for lines := bufio.NewScanner(bytes.NewBufferString(read(t, "deploy/rabbitmq/rabbitmq.conf"))); lines.Scan(); {
		line := strings.TrimSpace(lines.Text())
		if line == "" || line[0] == '#' {
			continue
		}
		name, value, ok := strings.Cut(line, " = ")
		if !ok {
			t.Errorf("%q is no setting", line)
		}
		set[name] = value
	}
	var alarm, timeout int64
	if _, err := fmt.Sscanf(set["vm_memory_high_watermark.absolute"]+" "+set["consumer_timeout"], "%dMB %d", &alarm, &timeout); err != nil {
		t.Fatal(err)
	}
	if limit := int64(services(t)["rabbitmq"].Deploy.Resources.Limits.MemoryBytes); alarm == 0 || alarm*1e6 > limit*3/4 {
		t.Errorf("the alarm comes at %d MB, the limit is %d bytes", alarm, limit)
	}
	if d := time.Duration(timeout) * time.Millisecond; d < 2*time.Hour {
		t.Errorf("a job may take %v", d)
	}
}
