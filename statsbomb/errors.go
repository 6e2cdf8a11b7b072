package statsbomb

import "errors"

// ErrNoEvents comes from Archive.Events for a match that is listed without events: normal in open data. Leave the match out.
var ErrNoEvents = errors.New("statsbomb: no events for this match")
