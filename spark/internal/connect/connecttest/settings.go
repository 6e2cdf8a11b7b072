package connecttest

import (
	"maps"
	"slices"
	"strconv"
	"strings"

	"cancha/spark/internal/protocol"
)

// configure does what a session is asked for with its settings.
func (x *session) configure(o *protocol.ConfigRequest_Operation) (pairs []*protocol.Pair) {
	for _, pair := range o.GetSet().GetPairs() {
		x.settings[pair.GetKey()] = pair.GetValue()
	}
	for _, key := range o.GetUnset().GetKeys() {
		delete(x.settings, key)
	}
	for _, key := range o.GetGetOption().GetKeys() {
		pair := &protocol.Pair{Key: key}
		if value, ok := x.settings[key]; ok {
			pair.Value = &value
		}
		pairs = append(pairs, pair)
	}
	for _, key := range o.GetIsModifiable().GetKeys() {
		modifiable := strconv.FormatBool(strings.HasPrefix(key, "spark.sql.") && key != "spark.sql.warehouse.dir") // as the server's
		pairs = append(pairs, &protocol.Pair{Key: key, Value: &modifiable})
	}
	if all := o.GetGetAll(); all != nil {
		for _, key := range slices.Sorted(maps.Keys(x.settings)) {
			if value := x.settings[key]; strings.HasPrefix(key, all.GetPrefix()) {
				pairs = append(pairs, &protocol.Pair{Key: key, Value: &value})
			}
		}
	}
	return pairs
}
