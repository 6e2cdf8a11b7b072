package statsbomb

import "fmt"

// Frame is a 360 frame as three-sixty files hold it, to be joined to the event with the same id.
type Frame struct {
	EventID     string
	VisibleArea []float64     // polygon x1, y1, x2, y2, …; may be empty
	FreezeFrame []FramePlayer // players may stand outside the visible area
}

// DecodeFrames reads the array of a three-sixty file.
func (d *Decoder) DecodeFrames(text []byte) ([]Frame, error) {
	s := d.scanner(withoutMark(text))
	var frames []Frame
	s.array(func() {
		var f Frame
		s.object(func(key []byte) { frameMember(s, &f, key) })
		if s.err == nil && f.EventID == "" {
			s.fail("field event_uuid: missing")
		}
		frames = append(frames, f)
	})
	s.end()
	s.text = nil
	if s.err != nil {
		return nil, fmt.Errorf("decode 360 frame %d of the file: %w", max(1, len(frames)), s.err)
	}
	return frames, nil
}

func frameMember(s *scanner, f *Frame, key []byte) {
	switch string(key) {
	case "event_uuid":
		f.EventID = s.own()
	case "visible_area":
		f.VisibleArea = s.floats()
	case "freeze_frame":
		f.FreezeFrame = s.frame()
	default:
		s.skip()
	}
}

// frame reads the players of a 360 frame.
func (s *scanner) frame() []FramePlayer {
	if s.null() {
		return nil
	}
	var players []FramePlayer
	s.array(func() {
		if players == nil {
			players = make([]FramePlayer, 0, 16) // 15 is the mean
		}
		players = append(players, s.framePlayer())
	})
	return players
}

func (s *scanner) framePlayer() FramePlayer {
	var p FramePlayer
	s.object(func(key []byte) {
		switch string(key) {
		case "location":
			p.Location = s.place()
		case "teammate":
			p.Teammate = s.flag()
		case "actor":
			p.Actor = s.flag()
		case "keeper":
			p.Keeper = s.flag()
		default:
			s.skip()
		}
	})
	return p
}

// place reads a location that must be there.
func (s *scanner) place() Point {
	var v [3]float64
	if n := s.coordinates(&v); n == 0 {
		s.fail("want coordinates, found none")
	}
	return Point{v[0], v[1], v[2]}
}

// shotFrame reads the players of a shot's own freeze frame.
func (s *scanner) shotFrame() []ShotPlayer {
	if s.null() {
		return nil
	}
	var players []ShotPlayer
	s.array(func() {
		var p ShotPlayer
		s.object(func(key []byte) {
			switch string(key) {
			case "location":
				p.Location = s.place()
			case "player":
				s.refInto(&p.Player)
			case "position":
				p.Position = s.ref()
			case "teammate":
				p.Teammate = s.flag()
			default:
				s.skip()
			}
		})
		players = append(players, p)
	})
	return players
}

func (s *scanner) tactics() *Tactics {
	if s.null() {
		return nil
	}
	var t Tactics
	s.object(func(key []byte) {
		switch {
		case string(key) == "formation":
			t.Formation = s.small()
		case string(key) == "lineup" && !s.null():
			s.array(func() { t.Lineup = append(t.Lineup, s.tacticsPlayer()) })
		case string(key) != "lineup":
			s.skip()
		}
	})
	return &t
}

func (s *scanner) tacticsPlayer() TacticsPlayer {
	var p TacticsPlayer
	s.object(func(key []byte) {
		switch string(key) {
		case "player":
			s.refInto(&p.Player)
		case "position":
			p.Position = s.ref()
		case "jersey_number":
			p.Jersey = s.small()
		default:
			s.skip()
		}
	})
	return p
}
