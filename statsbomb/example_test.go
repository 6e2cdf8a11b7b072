package statsbomb_test

import (
	"fmt"

	"cancha/statsbomb"
)

func ExampleDecodeEvent() {
	published := `{"index":1612,"period":2,"timestamp":"00:10:02.120","type":{"id":16,"name":"Shot"},"team":{"id":1,"name":"Alba"},
		"shot":{"statsbomb_xg":0.31,"outcome":{"id":97,"name":"Goal"}}}`
	flattened := `{"index":1612,"period":2,"timestamp":"00:10:02.120","type":"Shot","team":"Alba","shot_statsbomb_xg":0.31,"shot_outcome":"Goal"}`
	for _, text := range []string{published, flattened} {
		e, err := statsbomb.DecodeEvent([]byte(text))
		fmt.Println(e.Team.Name, e.Timestamp, e.Shot.XG, e.Goal(), err)
	}
	// Output:
	// Alba 10m2.12s 0.31 true <nil>
	// Alba 10m2.12s 0.31 true <nil>
}
