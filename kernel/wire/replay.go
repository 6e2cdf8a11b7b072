package wire

import "crypto/sha256"

// replayMemory is how many signatures are remembered at least: as many as the reference client does
// (jupyter_client.session, digest_history_size).
const replayMemory = 1 << 16

// replayGuard remembers signatures in two generations, so that forgetting the oldest costs one assignment. It keeps 128 bits of
// each: at most 4.6 MB in all, where their text took 15 MB (measured). The zero value is ready.
type replayGuard struct {
	young, old map[replayKey]struct{}
}

type replayKey [16]byte

func replayKeyOf(signature string) replayKey {
	sum := sha256.Sum256([]byte(signature))
	return replayKey(sum[:16])
}

func (g *replayGuard) has(key replayKey) bool {
	_, young := g.young[key]
	_, old := g.old[key]
	return young || old
}

// add reports whether signature is new, and remembers it.
func (g *replayGuard) add(signature string) bool {
	key := replayKeyOf(signature)
	if g.has(key) {
		return false
	}
	if g.young == nil || len(g.young) >= replayMemory {
		g.old, g.young = g.young, make(map[replayKey]struct{})
	}
	g.young[key] = struct{}{}
	return true
}
