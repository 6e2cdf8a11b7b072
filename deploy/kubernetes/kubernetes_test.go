package kubernetes

import (
	"bytes"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"slices"
	"strings"
	"testing"
	"time"

	monitoring "github.com/prometheus-operator/prometheus-operator/pkg/apis/monitoring/v1"
	apps "k8s.io/api/apps/v1"
	core "k8s.io/api/core/v1"
	networking "k8s.io/api/networking/v1"
	policy "k8s.io/api/policy/v1"
	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/serializer/json"
	"k8s.io/client-go/kubernetes/scheme"
	"sigs.k8s.io/kustomize/api/krusty"
	"sigs.k8s.io/kustomize/kyaml/filesys"
	"sigs.k8s.io/yaml"
)

// workloads are what each overlay runs.
var workloads = map[string][]string{
	"cpu":           {"cpu-worker", "monitor", "rabbitmq", "scheduler"},
	"gpu":           {"cpu-worker", "gpu-worker", "monitor", "rabbitmq", "scheduler"},
	"load-balancer": {"cpu-worker", "monitor", "rabbitmq", "scheduler"},
	"keda":          {"cpu-worker", "gpu-worker", "monitor", "rabbitmq", "scheduler"},
	"observability": {"cpu-worker", "monitor", "rabbitmq", "scheduler"},
}

// cluster is what an overlay becomes.
type cluster struct {
	objects  []runtime.Object // of Kubernetes
	scaled   []ScaledObject
	rules    []monitoring.PrometheusRule
	monitors []monitoring.ServiceMonitor
}

// workload is what runs pods.
type workload struct {
	name      string
	namespace string
	selector  *meta.LabelSelector
	pod       core.PodTemplateSpec
	replicas  *int32
	set       *apps.StatefulSet // nil: a Deployment
}

// build has Kustomize make an overlay, and returns its documents, too.
func build(t *testing.T, name string) (cluster, []byte) {
	t.Helper()
	all, err := krusty.MakeKustomizer(krusty.MakeDefaultOptions()).Run(filesys.MakeFsOnDisk(), filepath.Join("overlays", name))
	if err != nil {
		t.Fatal(err)
	}
	var c cluster
	for _, each := range all.Resources() {
		text, err := each.AsYAML()
		if err != nil {
			t.Fatal(err)
		}
		if err := c.decode(each.GetKind(), text); err != nil {
			t.Fatalf("%s %s: %v", each.GetKind(), each.GetName(), err)
		}
	}
	text, err := all.AsYaml()
	if err != nil {
		t.Fatal(err)
	}
	return c, text
}

// decode takes one document in, and refuses what its type does not have.
func (c *cluster) decode(kind string, text []byte) error {
	switch kind {
	case "ScaledObject":
		return decodeOwn(text, &c.scaled)
	case "PrometheusRule":
		return decodeOwn(text, &c.rules)
	case "ServiceMonitor":
		return decodeOwn(text, &c.monitors)
	}
	o, err := decode(text)
	if err == nil {
		c.objects = append(c.objects, o)
	}
	return err
}

func decode(text []byte) (runtime.Object, error) {
	strict := json.NewSerializerWithOptions(json.DefaultMetaFactory, scheme.Scheme, scheme.Scheme, json.SerializerOptions{Yaml: true, Strict: true})
	o, _, err := strict.Decode(text, nil, nil)
	return o, err
}

func decodeOwn[T any](text []byte, all *[]T) error {
	var one T
	err := yaml.UnmarshalStrict(text, &one)
	*all = append(*all, one)
	return err
}

func (c *cluster) workloads() (all []workload) {
	for _, o := range c.objects {
		switch o := o.(type) {
		case *apps.Deployment:
			all = append(all, workload{o.Name, o.Namespace, o.Spec.Selector, o.Spec.Template, o.Spec.Replicas, nil})
		case *apps.StatefulSet:
			all = append(all, workload{o.Name, o.Namespace, o.Spec.Selector, o.Spec.Template, o.Spec.Replicas, o})
		}
	}
	slices.SortFunc(all, func(a, b workload) int { return strings.Compare(a.name, b.name) })
	return all
}

// of are the objects of one type.
func of[T runtime.Object](c cluster) (all []T) {
	for _, o := range c.objects {
		if o, ok := o.(T); ok {
			all = append(all, o)
		}
	}
	return all
}

func each(t *testing.T, check func(t *testing.T, name string, c cluster)) {
	for name := range workloads {
		t.Run(name, func(t *testing.T) {
			c, _ := build(t, name)
			check(t, name, c)
		})
	}
}

// A field that Kubernetes does not have is an error here, as it is not for kubectl.
func TestStrict(t *testing.T) {
	_, err := decode([]byte("apiVersion: apps/v1\nkind: Deployment\nmetadata: {name: a}\nspec: {replicass: 2}\n"))
	if !runtime.IsStrictDecodingError(err) {
		t.Errorf("replicass: %v", err)
	}
	var scaled []ScaledObject
	if err := decodeOwn([]byte("apiVersion: keda.sh/v1alpha1\nkind: ScaledObject\nspec: {minReplicas: 0}\n"), &scaled); err == nil {
		t.Error("KEDA has no minReplicas")
	}
	var monitors []monitoring.ServiceMonitor
	if err := decodeOwn([]byte("apiVersion: monitoring.coreos.com/v1\nkind: ServiceMonitor\nspec: {selector: {}, endpoints: [{ports: http}]}\n"), &monitors); err == nil {
		t.Error("an endpoint has no ports")
	}
}

func TestOverlays(t *testing.T) {
	entries, err := os.ReadDir("overlays")
	if err != nil || len(entries) != len(workloads) {
		t.Errorf("%d overlays, %d are tested: %v", len(entries), len(workloads), err)
	}
	each(t, func(t *testing.T, name string, c cluster) {
		var names []string
		for _, w := range c.workloads() {
			names = append(names, w.name)
			if w.namespace != "gpu-cluster" {
				t.Errorf("%s is in the namespace %q", w.name, w.namespace)
			}
		}
		if !slices.Equal(names, workloads[name]) {
			t.Errorf("it runs %v, want %v", names, workloads[name])
		}
		if spaces := of[*core.Namespace](c); len(spaces) != 1 || spaces[0].Name != "gpu-cluster" {
			t.Errorf("namespaces %v", spaces)
		}
	})
}

// Each pod runs without privileges and within limits, and has no token for the API server.
func TestConfined(t *testing.T) {
	each(t, func(t *testing.T, _ string, c cluster) {
		for _, w := range c.workloads() {
			spec := w.pod.Spec
			if p := spec.SecurityContext; p == nil || !is(p.RunAsNonRoot) || p.RunAsUser == nil || *p.RunAsUser == 0 || p.SeccompProfile == nil || p.SeccompProfile.Type != core.SeccompProfileTypeRuntimeDefault {
				t.Errorf("%s: %+v", w.name, p)
			}
			if spec.AutomountServiceAccountToken == nil || *spec.AutomountServiceAccountToken || spec.HostNetwork || spec.HostPID {
				t.Errorf("%s has a token, or the node's network or processes", w.name)
			}
			for _, box := range spec.Containers {
				s := box.SecurityContext
				if s == nil || !is(s.ReadOnlyRootFilesystem) || s.AllowPrivilegeEscalation == nil || *s.AllowPrivilegeEscalation || s.Capabilities == nil || !slices.Contains(s.Capabilities.Drop, "ALL") {
					t.Errorf("%s: %+v", w.name, s)
				}
				for _, what := range []core.ResourceName{core.ResourceCPU, core.ResourceMemory, core.ResourceEphemeralStorage} {
					if limit := box.Resources.Limits[what]; limit.IsZero() {
						t.Errorf("%s has no limit of %s", w.name, what)
					}
				}
				if box.ReadinessProbe == nil {
					t.Errorf("%s is never asked whether it is ready", w.name)
				} else if alive := box.LivenessProbe; (alive != nil) != (w.set != nil) {
					t.Errorf("%s: a service is started anew when it hangs, and a worker never is", w.name)
				} else if alive != nil && reflect.DeepEqual(box.ReadinessProbe.ProbeHandler, alive.ProbeHandler) {
					t.Errorf("%s: one probe for being ready and being alive", w.name)
				}
				if _, tag, ok := strings.Cut(box.Image[strings.LastIndex(box.Image, "/")+1:], ":"); !ok || strings.Count(tag, ".") != 2 {
					t.Errorf("%s: the image %s has no exact tag", w.name, box.Image)
				}
			}
		}
		for _, a := range of[*core.ServiceAccount](c) {
			if a.AutomountServiceAccountToken == nil || *a.AutomountServiceAccountToken {
				t.Errorf("the account %s hands out a token", a.Name)
			}
		}
	})
}

func is(v *bool) bool { return v != nil && *v }

// No file has a secret, and what pods read of secrets has a name that the instructions make.
func TestSecrets(t *testing.T) {
	docs, err := os.ReadFile("../../docs/jobs.md")
	if err != nil {
		t.Fatal(err)
	}
	each(t, func(t *testing.T, _ string, c cluster) {
		if secrets := of[*core.Secret](c); len(secrets) > 0 {
			t.Errorf("%d secrets are written down", len(secrets))
		}
		fromSecrets := 0
		for _, w := range c.workloads() {
			for _, box := range w.pod.Spec.Containers {
				for _, e := range box.Env {
					if secret := strings.Contains(e.Name, "PASS") || strings.Contains(e.Name, "TOKEN"); secret && (e.Value != "" || e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil) {
						t.Errorf("%s: %s does not come from a secret", w.name, e.Name)
					}
					if e.ValueFrom == nil || e.ValueFrom.SecretKeyRef == nil {
						continue
					}
					fromSecrets++
					ref := e.ValueFrom.SecretKeyRef
					if !bytes.Contains(docs, []byte("create secret generic "+ref.Name+" ")) || !bytes.Contains(docs, []byte("--from-literal="+ref.Key+"=")) {
						t.Errorf("%s: docs/jobs.md does not make the secret %s with %s", w.name, ref.Name, ref.Key)
					}
				}
			}
		}
		if fromSecrets < 7 {
			t.Errorf("%d values come from secrets: the pods have been misread", fromSecrets)
		}
	})
}

// What selects pods finds them: services, budgets, policies, and the sets themselves.
func TestSelectors(t *testing.T) {
	each(t, func(t *testing.T, _ string, c cluster) {
		all := c.workloads()
		for _, s := range of[*core.Service](c) {
			found := matching(t, all, &meta.LabelSelector{MatchLabels: s.Spec.Selector})
			if len(found) != 1 {
				t.Errorf("the service %s finds %d workloads", s.Name, len(found))
				continue
			}
			for _, p := range s.Spec.Ports {
				if !hasPort(found[0], p.TargetPort.StrVal, p.Port) {
					t.Errorf("the service %s: no port %s %d", s.Name, p.TargetPort.StrVal, p.Port)
				}
			}
		}
		budgets, policies := of[*policy.PodDisruptionBudget](c), of[*networking.NetworkPolicy](c)
		for _, w := range all {
			if len(matching(t, []workload{w}, w.selector)) != 1 {
				t.Errorf("%s does not select its own pods", w.name)
			}
			if n := count(budgets, func(b *policy.PodDisruptionBudget) bool { return len(matching(t, []workload{w}, b.Spec.Selector)) == 1 }); n != 1 {
				t.Errorf("%s has %d disruption budgets", w.name, n)
			}
			own := count(policies, func(p *networking.NetworkPolicy) bool {
				return len(p.Spec.PodSelector.MatchLabels) > 0 && len(p.Spec.PolicyTypes) == 2 && len(matching(t, []workload{w}, &p.Spec.PodSelector)) == 1
			})
			if own != 1 {
				t.Errorf("%s has %d network policies for both directions", w.name, own)
			}
			if w.set != nil && !slices.ContainsFunc(of[*core.Service](c), func(s *core.Service) bool {
				return s.Name == w.set.Spec.ServiceName && s.Spec.ClusterIP == core.ClusterIPNone
			}) {
				t.Errorf("%s has no headless service %s", w.name, w.set.Spec.ServiceName)
			}
		}
		if !slices.ContainsFunc(policies, func(p *networking.NetworkPolicy) bool {
			return len(p.Spec.PodSelector.MatchLabels) == 0 && len(p.Spec.Ingress)+len(p.Spec.Egress) == 0 && len(p.Spec.PolicyTypes) == 2
		}) {
			t.Error("what no policy names may pass")
		}
	})
}

func matching(t *testing.T, all []workload, s *meta.LabelSelector) (found []workload) {
	t.Helper()
	selector, err := meta.LabelSelectorAsSelector(s)
	if err != nil {
		t.Fatal(err)
	}
	for _, w := range all {
		if selector.Matches(labels.Set(w.pod.Labels)) {
			found = append(found, w)
		}
	}
	return found
}

func hasPort(w workload, name string, number int32) bool {
	return slices.ContainsFunc(w.pod.Spec.Containers, func(b core.Container) bool {
		return slices.ContainsFunc(b.Ports, func(p core.ContainerPort) bool { return p.Name == name && p.ContainerPort == number })
	})
}

func count[T any](all []T, is func(T) bool) (n int) {
	for _, each := range all {
		if is(each) {
			n++
		}
	}
	return n
}

// The scheduler's jobs and RabbitMQ's messages outlive their pods, each of which there is one.
func TestDurable(t *testing.T) {
	each(t, func(t *testing.T, _ string, c cluster) {
		durable := 0
		for _, w := range c.workloads() {
			if w.set == nil {
				continue
			}
			durable++
			if *w.replicas != 1 || len(w.set.Spec.VolumeClaimTemplates) != 1 {
				t.Errorf("%s: %d replicas, %d claims", w.name, *w.replicas, len(w.set.Spec.VolumeClaimTemplates))
				continue
			}
			claim := w.set.Spec.VolumeClaimTemplates[0].Name
			if !slices.ContainsFunc(w.pod.Spec.Containers[0].VolumeMounts, func(m core.VolumeMount) bool { return m.Name == claim && !m.ReadOnly }) {
				t.Errorf("%s does not mount %s", w.name, claim)
			}
		}
		if durable != 2 {
			t.Errorf("%d sets", durable)
		}
	})
}

// The monitor writes results to a volume that outlives its pod, of which there is one at a time; the original's Service on 8000 leads to the page, and out of the
// cluster where that is asked for alone, to private networks.
func TestMonitor(t *testing.T) {
	each(t, func(t *testing.T, name string, c cluster) {
		i := slices.IndexFunc(c.objects, func(o runtime.Object) bool { d, is := o.(*apps.Deployment); return is && d.Name == "monitor" })
		if i < 0 {
			t.Fatal("there is none")
		}
		d := c.objects[i].(*apps.Deployment)
		box, spec := d.Spec.Template.Spec.Containers[0], d.Spec.Template.Spec
		claims := of[*core.PersistentVolumeClaim](c)
		if d.Spec.Strategy.Type != apps.RecreateDeploymentStrategyType || *d.Spec.Replicas != 1 || len(claims) != 1 || claims[0].Name != "results" {
			t.Errorf("%+v, %d replicas, %d claims", d.Spec.Strategy, *d.Spec.Replicas, len(claims))
		}
		at := slices.IndexFunc(spec.Volumes, func(v core.Volume) bool {
			return v.PersistentVolumeClaim != nil && v.PersistentVolumeClaim.ClaimName == "results"
		})
		file := box.Args[len(box.Args)-1]
		if at < 0 || !slices.ContainsFunc(box.VolumeMounts, func(m core.VolumeMount) bool {
			return m.Name == spec.Volumes[at].Name && m.MountPath == filepath.Dir(file) && !m.ReadOnly
		}) {
			t.Errorf("%s is not on the volume", file)
		}
		services := of[*core.Service](c)
		i = slices.IndexFunc(services, func(s *core.Service) bool { return s.Name == "monitor" })
		s, kind := services[i], core.ServiceTypeClusterIP
		open := slices.ContainsFunc(of[*networking.NetworkPolicy](c), func(p *networking.NetworkPolicy) bool {
			return slices.ContainsFunc(p.Spec.Ingress, func(r networking.NetworkPolicyIngressRule) bool {
				return slices.ContainsFunc(r.From, func(f networking.NetworkPolicyPeer) bool { return f.IPBlock != nil })
			})
		})
		if name == "load-balancer" {
			kind = core.ServiceTypeLoadBalancer
		}
		if s.Spec.Type != kind || s.Spec.Ports[0].Port != 8000 || open != (name == "load-balancer") || open != (len(s.Spec.LoadBalancerSourceRanges) > 0) || slices.Contains(s.Spec.LoadBalancerSourceRanges, "0.0.0.0/0") {
			t.Errorf("got %+v, and from outside: %v", s.Spec, open)
		}
	})
}

// Workers: the contract's environment, the original's limits, and a whole GPU on a node that has one.
func TestWorkers(t *testing.T) {
	c, _ := build(t, "gpu")
	for _, w := range c.workloads() {
		device, ok := strings.CutSuffix(w.name, "-worker")
		if !ok {
			continue
		}
		box, env := w.pod.Spec.Containers[0], map[string]string{}
		for _, e := range box.Env {
			env[e.Name] = e.Value
		}
		said, drains, _ := strings.Cut(strings.Join(append(slices.Clone(box.Command), box.Args...), " "), " -drain ")
		drain, err := time.ParseDuration(drains)
		if grace := time.Duration(*w.pod.Spec.TerminationGracePeriodSeconds) * time.Second; err != nil || drain < time.Minute || grace < drain+10*time.Second {
			t.Errorf("%s waits %v for its jobs, and is killed after %v: %v", w.name, drain, grace, err)
		}
		if strings.TrimPrefix(said, "cancha ") != "worker -type "+device || env["WORKER_TYPE"] != device || env["RABBITMQ_HOST"] != "rabbitmq" {
			t.Errorf("%s runs %q with %v", w.name, said, env)
		}
		gpus := box.Resources.Limits["nvidia.com/gpu"]
		switch device {
		case "cpu":
			if limits := box.Resources.Limits; limits.Cpu().String() != "2" || limits.Memory().String() != "4Gi" || !gpus.IsZero() {
				t.Errorf("%s: %v", w.name, limits)
			}
		case "gpu":
			tolerates := slices.ContainsFunc(w.pod.Spec.Tolerations, func(o core.Toleration) bool {
				return o.Key == "nvidia.com/gpu" && o.Operator == core.TolerationOpExists && o.Effect == core.TaintEffectNoSchedule
			})
			if gpus.Value() != 1 || w.pod.Spec.NodeSelector["accelerator"] != "nvidia-gpu" || !tolerates {
				t.Errorf("%s: %d GPUs, nodes %v, tolerations %v", w.name, gpus.Value(), w.pod.Spec.NodeSelector, w.pod.Spec.Tolerations)
			}
		}
	}
}

// KEDA scales the workers, each by what waits for its device, and nothing else says how many there are.
func TestScaled(t *testing.T) {
	c, _ := build(t, "keda")
	if len(c.scaled) != 2 {
		t.Fatalf("%d are scaled", len(c.scaled))
	}
	all := c.workloads()
	for _, s := range c.scaled {
		i := slices.IndexFunc(all, func(w workload) bool { return w.name == s.Spec.ScaleTargetRef.Name })
		if i < 0 || all[i].replicas != nil || all[i].namespace != s.Namespace || s.Spec.ScaleTargetRef.Kind != "Deployment" {
			t.Errorf("%s scales %+v, which is not there or says itself how many there are", s.Name, s.Spec.ScaleTargetRef)
		}
		if s.Spec.MinReplicaCount < 0 || s.Spec.MinReplicaCount > s.Spec.MaxReplicaCount || s.Spec.MaxReplicaCount == 0 || len(s.Spec.Triggers) != 1 {
			t.Fatalf("%s: %+v", s.Name, s.Spec)
		}
		device := strings.TrimSuffix(s.Spec.ScaleTargetRef.Name, "-worker")
		if trigger := s.Spec.Triggers[0]; trigger.Type != "prometheus" || !strings.Contains(trigger.Metadata.Query, `cancha_jobs_predicted_seconds{device="`+device+`"}`) {
			t.Errorf("%s: %+v", s.Name, trigger)
		}
		if device == "gpu" && s.Spec.MinReplicaCount != 0 {
			t.Error("a GPU is kept where there is nothing to do")
		}
	}
}

// What stands twice, since Kustomize reads nothing outside its own folder, says the same.
func TestCopies(t *testing.T) {
	for copied, source := range map[string]string{
		"base/rabbitmq.conf": "../rabbitmq/rabbitmq.conf", "base/enabled_plugins": "../rabbitmq/enabled_plugins",
		"components/observability/jobs.json": "../grafana/dashboards/jobs.json",
	} {
		a, errA := os.ReadFile(copied)
		b, errB := os.ReadFile(source)
		if errA != nil || errB != nil || !bytes.Equal(a, b) {
			t.Errorf("%s is no copy of %s: copy it anew (%v, %v)", copied, source, errA, errB)
		}
	}
	text, err := os.ReadFile("../prometheus/jobs.yml")
	if err != nil {
		t.Fatal(err)
	}
	var rules struct {
		Groups []monitoring.RuleGroup `json:"groups"`
	}
	if err := yaml.UnmarshalStrict(text, &rules); err != nil {
		t.Fatal(err)
	}
	c, _ := build(t, "observability")
	if len(c.rules) != 1 || len(rules.Groups) == 0 || !reflect.DeepEqual(c.rules[0].Spec.Groups, rules.Groups) {
		t.Error("components/observability/rules.yaml has other groups than deploy/prometheus/jobs.yml")
	}
}

// Prometheus finds a service for each monitor, and calls its targets as the rules do.
func TestMonitors(t *testing.T) {
	c, _ := build(t, "observability")
	rules, err := os.ReadFile("../prometheus/jobs.yml")
	if err != nil {
		t.Fatal(err)
	}
	if len(c.monitors) != 2 {
		t.Fatalf("%d monitors", len(c.monitors))
	}
	for _, m := range c.monitors {
		selector := labels.SelectorFromSet(m.Spec.Selector.MatchLabels)
		for _, e := range m.Spec.Endpoints {
			if !slices.ContainsFunc(of[*core.Service](c), func(s *core.Service) bool {
				return selector.Matches(labels.Set(s.Labels)) && slices.ContainsFunc(s.Spec.Ports, func(p core.ServicePort) bool { return p.Name == e.Port })
			}) {
				t.Errorf("%s: no service %v has a port %s", m.Name, m.Spec.Selector.MatchLabels, e.Port)
			}
			if len(e.RelabelConfigs) != 1 || e.RelabelConfigs[0].Replacement == nil || !bytes.Contains(rules, []byte(`up{job="`+*e.RelabelConfigs[0].Replacement+`"}`)) {
				t.Errorf("%s: no rule knows the job %+v", m.Name, e.RelabelConfigs)
			}
		}
	}
}

// kube-score, where KUBE_SCORE names it, has nothing critical to say.
func TestScore(t *testing.T) {
	program := os.Getenv("KUBE_SCORE")
	if program == "" {
		t.Skip("KUBE_SCORE does not name kube-score: scripts/kubernetes.sh gets it")
	}
	for _, name := range append(slices.Sorted(maps.Keys(workloads)), "../base") {
		t.Run(name, func(t *testing.T) {
			_, text := build(t, name)
			score := exec.CommandContext(t.Context(), program, "score", "--output-format", "ci", "-")
			score.Stdin = bytes.NewReader(text)
			said, err := score.CombinedOutput()
			if n := bytes.Count(said, []byte("[OK]")); n < 30 {
				t.Errorf("%d checks have been made: %v\n%s", n, err, said)
			}
			for line := range strings.Lines(string(said)) {
				if strings.HasPrefix(line, "[CRITICAL]") {
					t.Error(strings.TrimSpace(line))
				}
			}
		})
	}
}
