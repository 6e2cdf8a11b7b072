package stream

import (
	"time"

	"cancha/statsbomb"
)

// MinuteStatistics is the query of the statistics a minute: for each match, team and minute of event time the number of
// events and passes; pass and carry distances and places on the pitch, each with count, min, max, mean and sample variance;
// and possession, the team's part of the events that have a team in possession. Only events of periods 1 to 5 with a team
// count. The watermark stays 30 s behind; the rows, written by WriteWindowsCSV, are the file windows.csv.
func MinuteStatistics(source Source) *Query {
	pass, carry := TypeIs(statsbomb.TypePass), TypeIs(statsbomb.TypeCarry)
	return From(source).Name("minute statistics").
		Watermark(30*time.Second).
		Where(Between("period", 1, 5)).Where(Has("team.id")).
		GroupBy("match_id", "team_id").
		Window(Tumbling(time.Minute)).
		Agg(
			Count("events"),
			CountIf("passes", pass),
			Stats("pass_length", Distance("location", "pass.end_location")).If(pass),
			Stats("carry_distance", Distance("location", "carry.end_location")).If(carry),
			Stats("x", Field("location.0")),
			Stats("y", Field("location.1")),
			Share("possession", "possession_team.id", "team.id"),
		)
}
