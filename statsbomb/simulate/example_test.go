package simulate_test

import (
	"fmt"

	"cancha/statsbomb/simulate"
)

func ExampleNew() {
	archive := simulate.New(simulate.Config{Seed: 7, Matches: 10})
	m := archive.Matches()[0]
	events, err := archive.Events(m.ID)
	goals := 0
	for i := range events {
		if events[i].Goal() {
			goals++
		}
	}
	fmt.Println(m.Date, archive.Source(), goals == m.HomeScore+m.AwayScore, err)
	// Output: 2021-08-14 simulator true <nil>
}
