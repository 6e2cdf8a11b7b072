package kubernetes

import (
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	meta "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// ScaledObject is KEDA's (keda.sh/v1alpha1), as far as it is used here: its own types take three minutes to compile. TestKeda looks each field up in what KEDA has
// published.
type ScaledObject struct {
	meta.TypeMeta   `json:",inline"`
	meta.ObjectMeta `json:"metadata"`
	Spec            struct {
		ScaleTargetRef struct {
			Kind string `json:"kind"`
			Name string `json:"name"`
		} `json:"scaleTargetRef"`
		MinReplicaCount int `json:"minReplicaCount"`
		MaxReplicaCount int `json:"maxReplicaCount"`
		PollingInterval int `json:"pollingInterval"`
		CooldownPeriod  int `json:"cooldownPeriod"`
		Triggers        []struct {
			Type       string   `json:"type"`
			MetricType string   `json:"metricType"`
			Metadata   struct { // of the scaler for Prometheus: all are texts
				ServerAddress       string `json:"serverAddress"`
				Query               string `json:"query"`
				Threshold           string `json:"threshold"`
				ActivationThreshold string `json:"activationThreshold"`
				IgnoreNullValues    string `json:"ignoreNullValues"`
			} `json:"metadata"`
		} `json:"triggers"`
	} `json:"spec"`
}

// KEDA's definition, of the module that KEDA_MODULE names the folder of, has each field that is written, of its type; and its scaler for Prometheus has each
// setting.
func TestKeda(t *testing.T) {
	module := os.Getenv("KEDA_MODULE")
	if module == "" {
		t.Skip("KEDA_MODULE does not name the folder of KEDA's module: scripts/kubernetes.sh gets it")
	}
	schema := definition(t, filepath.Join(module, "config/crd/bases/keda.sh_scaledobjects.yaml"))
	scaler, err := os.ReadFile(filepath.Join(module, "pkg/scalers/prometheus_scaler.go"))
	if err != nil {
		t.Fatal(err)
	}
	settings := map[string]bool{}
	for _, m := range regexp.MustCompile(`keda:"name=(\w+),`).FindAllStringSubmatch(string(scaler), -1) {
		settings[m[1]] = true
	}
	text, err := os.ReadFile("components/keda/scale.yaml")
	if err != nil {
		t.Fatal(err)
	}
	documents := strings.Split(string(text), "\n---\n")
	for _, document := range documents {
		var object map[string]any
		if err := yaml.UnmarshalStrict([]byte(document), &object); err != nil {
			t.Fatal(err)
		}
		for _, fault := range faults(schema, object, "") {
			t.Error(fault)
		}
		for _, trigger := range object["spec"].(map[string]any)["triggers"].([]any) {
			for name := range trigger.(map[string]any)["metadata"].(map[string]any) {
				if !settings[name] {
					t.Errorf("the scaler for Prometheus has no %s", name)
				}
			}
		}
	}
	if len(documents) != 2 {
		t.Errorf("%d objects", len(documents))
	}
	wrong := map[string]any{"spec": map[string]any{"minReplicas": 1, "maxReplicaCount": "4", "triggers": []any{map[string]any{"type": "prometheus"}}}}
	got := strings.Join(faults(schema, wrong, ""), "; ")
	if want := `.spec: scaleTargetRef is missing; .spec.maxReplicaCount: "4" is no integer; .spec.minReplicas: no such field; .spec.triggers[0]: metadata is missing`; got != want {
		t.Errorf("of an object with faults: got %s", got)
	}
}

// definition is the schema of the first version in a CustomResourceDefinition.
func definition(t *testing.T, file string) map[string]any {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	var d struct {
		Spec struct {
			Versions []struct {
				Name   string
				Schema struct{ OpenAPIV3Schema map[string]any }
			}
		}
	}
	if err := yaml.Unmarshal(text, &d); err != nil || len(d.Spec.Versions) != 1 || d.Spec.Versions[0].Name != "v1alpha1" {
		t.Fatalf("%s is none of one version, v1alpha1: %v", file, err)
	}
	return d.Spec.Versions[0].Schema.OpenAPIV3Schema
}

// faults are what a schema of a CustomResourceDefinition does not allow in a value: fields that it does not know, that are missing, or of another type. An object
// without properties, as metadata, may have any.
func faults(schema map[string]any, value any, at string) (all []string) {
	properties, _ := schema["properties"].(map[string]any)
	others, _ := schema["additionalProperties"].(map[string]any)
	switch v := value.(type) {
	case map[string]any:
		required, _ := schema["required"].([]any)
		for _, name := range required {
			if _, is := v[name.(string)]; !is {
				all = append(all, fmt.Sprintf("%s: %s is missing", at, name))
			}
		}
		for _, name := range slices.Sorted(maps.Keys(v)) {
			inner, known := properties[name].(map[string]any)
			switch {
			case known:
				all = append(all, faults(inner, v[name], at+"."+name)...)
			case others != nil:
				all = append(all, faults(others, v[name], at+"."+name)...)
			case properties != nil:
				all = append(all, at+"."+name+": no such field")
			}
		}
	case []any:
		items, _ := schema["items"].(map[string]any)
		for i, each := range v {
			all = append(all, faults(items, each, fmt.Sprintf("%s[%d]", at, i))...)
		}
	default:
		if want, _ := schema["type"].(string); want != "" && !typed(v, want) {
			all = append(all, fmt.Sprintf("%s: %q is no %s", at, v, want))
		}
	}
	return all
}

// typed tells whether a value that is no object and no list is of a type of OpenAPI.
func typed(value any, want string) bool {
	switch v := value.(type) {
	case string:
		return want == "string"
	case bool:
		return want == "boolean"
	case int:
		return want == "integer" || want == "number"
	case float64:
		return want == "number" || want == "integer" && v == float64(int64(v))
	}
	return false
}
