package streaming

import (
	"fmt"
	"io"
	"slices"
	"time"

	"cancha/statsbomb"
	"cancha/stream"
	"cancha/stream/next"
)

// Format is that of records of events: the envelope of the topic statsbomb-360-events, whose event has the paths of a StatsBomb event
// ("pass.end_location[0]") beside those of "metadata"; bare events; and rows flattened in the manner of statsbombpy.
func Format() next.JSONOptions {
	return next.JSONFormat().Envelope("event", "metadata").Flattened("_")
}

// Events starts a query over records of events: their format, their event time, and that they are keyed by match_id.
func Events(source stream.Source) *next.Query {
	return next.From(source).Format(Format()).KeyedBy("match_id").
		EventTime(next.Field("metadata.event_time").AsTime().OrElse(next.Field("event_time").AsTime()))
}

// TypeIs asks whether an event is of one of these types, by StatsBomb's ids: 30 is a pass, 43 a carry, 16 a shot. Flattened rows have the
// type's name in place of its id.
func TypeIs(ids ...int) next.Expr {
	var numbers, names []any
	for _, id := range ids {
		numbers = append(numbers, id)
		if name := statsbomb.TypeName(id); name != "" {
			names = append(names, name)
		}
	}
	byID := next.Field("type.id").In(numbers...)
	if len(names) == 0 {
		return byID
	}
	return byID.Or(next.Field("type").In(names...))
}

// MinuteStatistics is the query of the statistics a minute: for each match, team and minute of event time the number of
// events and passes; pass and carry distances and places on the pitch, each with count, min, max, mean and sample variance;
// and possession, the team's part of the events that have a team in possession. Only events of periods 1 to 5 with a team
// count. The watermark stays 30 s behind; the rows, written by WriteWindowsCSV, are the file windows.csv.
func MinuteStatistics(source stream.Source) *next.Query {
	pass, carry := next.Field("is pass"), next.Field("is carry") // columns: each is asked of an event once
	return Events(source).Name("minute statistics").
		Watermark(30*time.Second).
		Filter(next.Field("period").Between(1, 5)).Filter(next.Has("team.id")).
		With("team_id", next.Field("team.id")).
		With("is pass", TypeIs(statsbomb.TypePass)).With("is carry", TypeIs(statsbomb.TypeCarry)).
		GroupBy("match_id", "team_id").
		Window(next.Tumbling(time.Minute)).
		Agg(
			next.Count("events"),
			next.CountIf("passes", pass),
			next.Stats("pass_length", next.Distance("location", "pass.end_location")).If(pass),
			next.Stats("carry_distance", next.Distance("location", "carry.end_location")).If(carry),
			next.Stats("x", next.Field("location[0]")),
			next.Stats("y", next.Field("location[1]")),
			next.Share("possession", "possession_team.id", "team_id"),
		)
}

// WriteWindowsCSV writes the rows of MinuteStatistics as the file windows.csv: match_id, team_id, window_start in RFC 3339 and the statistics,
// sorted by the first three. It leaves r as it is.
func WriteWindowsCSV(w io.Writer, r *next.Rows) error {
	names := slices.DeleteFunc(r.Names(), func(name string) bool { return name == "window_end" })
	rows, err := r.Select(names...)
	if err != nil {
		return fmt.Errorf("write windows: %w", err) // unreachable: the names are its own
	}
	return rows.Sort("match_id", "team_id", "window_start").WriteCSV(w)
}
