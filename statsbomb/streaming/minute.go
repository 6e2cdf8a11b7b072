package streaming

import (
	"fmt"
	"io"
	"slices"
	"time"

	"cancha/statsbomb"
	"cancha/stream"
)

// Format is that of records of events: the envelope of the topic statsbomb-360-events, whose event has the paths of a StatsBomb event
// ("pass.end_location[0]") beside those of "metadata"; bare events; and rows flattened in the manner of statsbombpy.
func Format() stream.JSONOptions {
	return stream.JSONFormat().Envelope("event", "metadata").Flattened("_")
}

// Events starts a query over records of events: their format, their event time, and that they are keyed by match_id.
func Events(source stream.Source) *stream.Query {
	return stream.From(source).Format(Format()).KeyedBy("match_id").
		EventTime(stream.Field("metadata.event_time").AsTime().OrElse(stream.Field("event_time").AsTime()))
}

// TypeIs asks whether an event is of one of these types, by StatsBomb's ids: 30 is a pass, 43 a carry, 16 a shot. Flattened rows have the
// type's name in place of its id.
func TypeIs(ids ...int) stream.Expr {
	var numbers, names []any
	for _, id := range ids {
		numbers = append(numbers, id)
		if name := statsbomb.TypeName(id); name != "" {
			names = append(names, name)
		}
		if id == statsbomb.TypeBallReceipt {
			names = append(names, "Ball Receipt") // without its star, in rows that were made by hand
		}
	}
	byID := stream.Field("type.id").In(numbers...)
	if len(names) == 0 {
		return byID
	}
	return byID.Or(stream.Field("type").In(names...))
}

// MinuteStatistics is the query of the statistics a minute: for each match, team and minute of event time the number of
// events and passes; pass and carry distances and places on the pitch, each with count, min, max, mean and sample variance;
// and possession, the team's part of the events that have a team in possession. Only events of periods 1 to 5 with a team
// count. An id that is neither an integer nor a text makes a record bad: else an object or a fraction would make a group of its own. The watermark stays 30 s behind; the rows, written by WriteWindowsCSV, are the file windows.csv.
func MinuteStatistics(source stream.Source) *stream.Query {
	pass, carry := stream.Field("is pass"), stream.Field("is carry") // columns: each is asked of an event once
	return Events(source).Name("minute statistics").
		Watermark(30*time.Second).
		Require("match_id", stream.Int, stream.Text).Require("team.id", stream.Int, stream.Text).Require("possession_team.id", stream.Int, stream.Text).
		Filter(stream.Field("period").Between(1, 5)).Filter(stream.Has("team.id")).
		With("team_id", stream.Field("team.id")).
		With("is pass", TypeIs(statsbomb.TypePass)).With("is carry", TypeIs(statsbomb.TypeCarry)).
		GroupBy("match_id", "team_id").
		Window(stream.Tumbling(time.Minute)).
		Agg(
			stream.Count("events"),
			stream.CountIf("passes", pass),
			stream.Stats("pass_length", stream.Distance("location", "pass.end_location")).If(pass),
			stream.Stats("carry_distance", stream.Distance("location", "carry.end_location")).If(carry),
			stream.Stats("x", stream.Field("location[0]")),
			stream.Stats("y", stream.Field("location[1]")),
			stream.Share("possession", "possession_team.id", "team_id"),
		)
}

// WriteWindowsCSV writes the rows of MinuteStatistics as the file windows.csv: match_id, team_id, window_start in RFC 3339 and the statistics,
// sorted by the first three. It leaves r as it is.
func WriteWindowsCSV(w io.Writer, r *stream.Rows) error {
	names := slices.DeleteFunc(r.Names(), func(name string) bool { return name == "window_end" })
	rows, err := r.Select(names...)
	if err != nil {
		return fmt.Errorf("write windows: %w", err) // unreachable: the names are its own
	}
	return rows.Sort("match_id", "team_id", "window_start").WriteCSV(w)
}
