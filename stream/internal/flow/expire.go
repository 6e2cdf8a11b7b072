package flow

import (
	"maps"
	"slices"
)

// Groups without windows are forgotten when they have had no row for their time to live. Their rows may lie in several lanes: a group is old
// only if it is old in all of them.

// Expires tells whether groups are forgotten; those of a window go with it.
func (g *Grouping) Expires() bool { return g.ttl > 0 && !g.Windowed() }

// old tells whether a group's time to live is over.
func (w *Windows) old(g *Group, watermark int64) bool { return later(g.last, w.ttl) < watermark }

// await has Outlived tell of a group.
func (w *Windows) await(g *Group) {
	if !g.waits && w.Expires() && g.last != NoWatermark {
		g.waits = true
		w.ends.put(later(g.last, w.ttl), g)
	}
}

// Outlived tells whether a watermark has passed the time to live of some group. Of one that is there still it tells again once the watermark is another: what made
// it ready to be forgotten may have come when nothing was forgotten.
func (w *Windows) Outlived(watermark int64) (some bool) {
	for at, ok := w.ends.first(); ok && at < watermark; at, ok = w.ends.first() {
		g := w.ends.next().of
		switch {
		case g.window.groups[g.key] != g: // it has been forgotten
		case w.old(g, watermark):
			some = true
			w.ends.put(watermark, g)
		default: // rows have come since
			w.ends.put(later(g.last, w.ttl), g)
		}
	}
	return some
}

// outlive forgets the group of a row whose time to live was over when the row's record came: other partitions have not come so far, or a row that came behind
// its time has begun it.
func (g *Groups) outlive(row Row, passed int64) {
	keys, reason := g.read(g.scratch[:0], row)
	if reason != "" || len(g.open) == 0 {
		return // as Add says
	}
	key := string(keyBytes(keys))
	old := g.open[0].groups[key]
	if old == nil || !g.old(old, passed) {
		return
	}
	if old.epoch == g.epoch {
		g.Give(partsOf([]*Windows{g.Windows}, []string{key}))
	}
	g.Drop(map[string]bool{key: true})
}

// Old returns the keys of the groups whose time to live is over here, each with whether it has changed since Take.
func (w *Windows) Old(watermark int64) map[string]bool {
	keys := map[string]bool{}
	for _, o := range w.open {
		for _, g := range o.order {
			if w.old(g, watermark) {
				keys[g.key] = g.epoch == w.epoch
			}
		}
	}
	return keys
}

// Spare takes those keys away whose groups live on here, and notes those that have changed here since Take.
func (w *Windows) Spare(keys map[string]bool, watermark int64) {
	for _, o := range w.open {
		for key := range keys {
			switch g := o.groups[key]; {
			case g == nil:
			case !w.old(g, watermark):
				delete(keys, key)
			case g.epoch == w.epoch:
				keys[key] = true
			}
		}
	}
}

// Drop forgets the groups of these keys.
func (w *Windows) Drop(keys map[string]bool) {
	if len(keys) == 0 {
		return
	}
	for _, o := range w.open {
		var gone []*Group
		o.order = slices.DeleteFunc(o.order, func(g *Group) bool {
			if _, drop := keys[g.key]; !drop {
				return false
			}
			delete(o.groups, g.key)
			gone = append(gone, g)
			return true
		})
		w.forget(gone)
		w.leave(gone)
	}
	clear(w.recent[:])
}

// Expire forgets the groups whose time to live is over in all parts of an aggregation. What has changed of them since Take is given out
// before.
func Expire(parts []*Windows, watermark int64, give func(parts []*Window)) {
	if !parts[0].Expires() || watermark == NoWatermark {
		return
	}
	old := map[string]bool{}
	for _, w := range parts {
		for key, changed := range w.Old(watermark) {
			old[key] = old[key] || changed
		}
	}
	for _, w := range parts {
		w.Spare(old, watermark)
	}
	for _, keys := range untold(parts, old) {
		give(partsOf(parts, keys))
	}
	for _, w := range parts {
		w.Drop(old)
	}
}

// untold are those of the keys that have changed, in groups of those whose latest rows have one event time, the earliest first: that is their rows' time, however
// many are forgotten at once.
func untold(parts []*Windows, old map[string]bool) (groups [][]string) {
	times := map[int64][]string{}
	for key, changed := range old {
		if changed {
			t := latest(parts, key)
			times[t] = append(times[t], key)
		}
	}
	for _, t := range slices.Sorted(maps.Keys(times)) {
		slices.Sort(times[t])
		groups = append(groups, times[t])
	}
	return groups
}

// latest is the event time of the latest row of a group without a window.
func latest(parts []*Windows, key string) int64 {
	t := int64(NoWatermark)
	for _, w := range parts {
		for _, o := range w.open {
			if g := o.groups[key]; g != nil {
				t = max(t, g.last)
			}
		}
	}
	return t
}

// partsOf are the groups of these keys, where there are no windows of time.
func partsOf(parts []*Windows, keys []string) (all []*Window) {
	for _, w := range parts {
		for _, o := range w.open {
			c := &Window{Start: o.Start, end: o.end}
			for _, key := range keys {
				if g := o.groups[key]; g != nil {
					c.order = append(c.order, g.copy(c))
				}
			}
			if len(c.order) > 0 {
				all = append(all, c)
			}
		}
	}
	return all
}
