package job

import (
	"fmt"
	"runtime"
	"strings"
	"testing"

	"cancha/jobs/queue"
)

// A body of 20 MB is refused without being read: for as long as that takes a scheduler does nothing else. Its result finds who has sent it.
func TestLarge(t *testing.T) {
	filling := strings.Repeat(`"0123456789",`, 20<<20/13)
	for _, c := range []struct{ name, body, want string }{
		{"an id in front", `{"job_id": "big", "reply_to": "mine", "job_type": "t", "parameters": {"x": [` + filling + `0]}}`, "big mine t"},
		{"an id at the end", `{"parameters": {"x": [` + filling + `0]}, "job_id": "big"}`, "message  "},
		{"a long text", `{"job_id": "big", "x": "` + filling, "big  "},
		{"no JSON", filling, "message  "},
		{"a list", "[" + filling, "message  "},
		{"bytes", strings.Repeat("\xff", 20<<20), "message  "},
	} {
		m := &queue.Message{ID: "message", Body: []byte(c.body)}
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		s, err := Read(m)
		runtime.ReadMemStats(&after)
		if _, invalid := err.(*Invalid); !invalid || !strings.Contains(err.Error(), "write large data into a file") ||
			fmt.Sprint(s.ID, " ", s.ReplyTo, " ", s.Type) != c.want {
			t.Errorf("%s: got %+v, %v", c.name, s, err)
		}
		if made := after.TotalAlloc - before.TotalAlloc; made > 1<<20 {
			t.Errorf("%s: it took %d bytes to refuse it", c.name, made)
		}
	}
	if _, err := Read(&queue.Message{Body: []byte(`{"job_type":"t","parameters":{"x":"` + strings.Repeat("x", MaxParameters-10) + `"}}`)}); err != nil {
		t.Errorf("as large as a job may be: %v", err)
	}
}
