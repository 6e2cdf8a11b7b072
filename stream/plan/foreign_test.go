package plan_test

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"cancha/stream/plan"
)

// TestSecret: whatever prints a plan, a password in it is not to be read.
func TestSecret(t *testing.T) {
	k := plan.Kafka{Brokers: []string{"a:1", "b:2"}, Topics: []string{"goals"}, Pattern: "shots-.*", Offsets: map[string]map[int]int64{"goals": {0: 7}}, Password: "s3cret"}
	p := &plan.Plan{Input: plan.Input{Kafka: &k}, Outlets: []plan.Outlet{{Kind: "kafka", Kafka: &k}}}
	b, err := json.Marshal(p)
	if err != nil {
		t.Fatal(err)
	}
	texts := []string{string(b), p.String(), k.String(), fmt.Sprint(k.Password), fmt.Sprintf("%s %q %x %d", k.Password, k.Password, k.Password, k.Password)}
	for _, verb := range []string{"%v", "%+v", "%#v"} {
		texts = append(texts, fmt.Sprintf(verb, k), fmt.Sprintf(verb, &k), fmt.Sprintf(verb, p.Outlets))
	}
	for _, text := range texts {
		if strings.Contains(text, "s3cret") || strings.Contains(text, fmt.Sprintf("%x", "s3cret")) {
			t.Errorf("the password is in %s", text)
		}
	}
	if want := "kafka goals, topics like shots-.* at a:1,b:2, goals from map[0:7]"; k.String() != want {
		t.Errorf("got %q, want %q", k.String(), want)
	}
}
