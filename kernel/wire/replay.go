package wire

// replayMemory is how many signatures are remembered at least: as many as the reference client does
// (jupyter_client.session, digest_history_size).
const replayMemory = 1 << 16

// replayGuard remembers signatures in two generations, so that forgetting the oldest costs one assignment. The zero value
// is ready.
type replayGuard struct {
	young, old map[string]struct{}
}

// add reports whether signature is new, and remembers it.
func (g *replayGuard) add(signature string) bool {
	if _, ok := g.young[signature]; ok {
		return false
	}
	if _, ok := g.old[signature]; ok {
		return false
	}
	if g.young == nil || len(g.young) >= replayMemory {
		g.old, g.young = g.young, make(map[string]struct{})
	}
	g.young[signature] = struct{}{}
	return true
}
