package statsbomb

// MatchEvent is an event with what a model of the match must know beside it: which team is at home.
type MatchEvent struct {
	Event      Event
	Home, Away Ref
}
