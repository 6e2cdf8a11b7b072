package stream

import (
	"fmt"
	"math"
	"math/rand/v2"
	"time"
)

// Event is a record of some 764 bytes: the members of a StatsBomb event and of the envelope, in their order. The team,
// which is returned too, is one of the two of the match.
func Event(random *rand.Rand, match, index int, at time.Time) (value []byte, team int) {
	tenth := func(limit float64) float64 { return math.Round(random.Float64()*limit*10) / 10 }
	team = match*2 + random.IntN(2)
	when := at.UTC().Format("2006-01-02T15:04:05.000Z")
	x, y := tenth(120), tenth(80)
	value = fmt.Appendf(nil, `{"event":{"id":"%08x-9d3c-4a3b-8c1e-%012x","index":%d,"period":1,"timestamp":"00:12:34.567","minute":12,"second":34,`+
		`"type":{"id":30,"name":"Pass"},"possession":%d,"possession_team":{"id":%d,"name":"Racing"},"play_pattern":{"id":1,"name":"Regular Play"},`+
		`"team":{"id":%d,"name":"Racing"},"player":{"id":%d,"name":"Ezequiel"},"position":{"id":13,"name":"Right Center Midfield"},`+
		`"location":[%g,%g],"duration":%.6f,"pass":{"length":%.4f,"angle":%.6f,"height":{"id":1,"name":"Ground Pass"},"end_location":[%g,%g],"body_part":{"id":40,"name":"Right Foot"},`+
		`"recipient":{"id":5503,"name":"Ezequiel"}},`+
		`"match_id":%d},"metadata":{"producer_timestamp":%q,"event_time":%q,"source":"simulator"}}`,
		random.Uint32(), random.Uint64()&0xffffffffffff, index, index/7, team, team, 3000+random.IntN(22), x, y,
		random.Float64()*3, random.Float64()*60, random.Float64()*3, tenth(120), tenth(80), match, when, when)
	return value, team
}
