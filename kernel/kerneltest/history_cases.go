package kerneltest

import (
	"context"
	"testing"

	"cancha/kernel/client"
)

// historyVariable names the folder in which a kernel of ours keeps its history.
const historyVariable = "CANCHA_HISTORY"

// historyAcrossRestarts: what earlier kernels ran is there, also what one ran that was killed, under numbers of their own.
func historyAcrossRestarts(t *testing.T, target Target) {
	dir := t.TempDir()
	c := target.Config
	c.Env = append(append([]string{}, c.Env...), historyVariable+"="+dir, "XDG_STATE_HOME="+dir, "IPYTHONDIR="+dir)
	serve := func(f func(s *subject, k *client.Kernel)) {
		k, err := client.Start(quiet(t, c))
		if err != nil {
			t.Fatal(err)
		}
		defer k.Kill()
		s := connect(t, target, k)
		f(s, k)
		_ = s.client.Close()
	}
	tail := map[string]any{"hist_access_type": "tail", "n": 3}
	serve(func(s *subject, k *client.Kernel) {
		s.run(t, s.Hello)
		s.run(t, s.Value)
		ctx, cancel := context.WithTimeout(t.Context(), patience)
		defer cancel()
		if err := k.Shutdown(ctx, s.client); err != nil {
			t.Error(err)
		}
	})
	serve(func(s *subject, k *client.Kernel) {
		got, before := s.inputs(t, tail)
		want(t, "before a cell", got, []string{s.Hello, s.Value})
		s.run(t, s.Hello)
		got, entries := s.inputs(t, tail)
		want(t, "after a cell", got, []string{s.Hello, s.Value, s.Hello})
		if a, b := before[0][0].(float64), entries[2][0].(float64); b <= a {
			t.Errorf("session %v follows session %v", b, a)
		}
		got, _ = s.inputs(t, map[string]any{"hist_access_type": "range", "session": -1, "start": 1})
		want(t, "range of the session before", got, []string{s.Hello, s.Value})
		got, _ = s.inputs(t, map[string]any{"hist_access_type": "range", "session": entries[2][0], "start": 1})
		want(t, "range of this session", got, []string{s.Hello})
		got, _ = s.inputs(t, map[string]any{"hist_access_type": "search", "pattern": s.Hello, "unique": true})
		want(t, "unique search", got, []string{s.Hello})
		k.Kill()
	})
	serve(func(s *subject, _ *client.Kernel) {
		got, _ := s.inputs(t, tail)
		want(t, "after a kernel that was killed", got, []string{s.Hello, s.Value, s.Hello})
	})
}
