package statsbomb

// ownMember reads a member that only events of one type have: the object "shot", or in a flattened row "shot_outcome",
// which is the same member of the same object with the object's name before it.
func ownMember(s *scanner, e *Event, key []byte) bool {
	own, rest := splitOwn(key)
	if own == "" {
		return false
	}
	if len(rest) > 0 {
		if !s.null() { // a flattened row has the columns of all types
			ownField(s, e, own, rest)
		}
		return true
	}
	switch {
	case s.null():
	case s.peek() == '{':
		part(s, e, own)
		s.object(func(field []byte) { ownField(s, e, own, field) })
	default:
		s.skip() // a flattened row may say "carry": true or the like: nothing that is not told elsewhere
	}
	return true
}

// splitOwn splits a key into the object that it names or starts with, and the field after it.
func splitOwn(key []byte) (own string, field []byte) {
	if own = ownKey(key); own != "" {
		return own, nil
	}
	for i, c := range key {
		if c == '_' && i+1 < len(key) {
			if own = ownKey(key[:i]); own != "" {
				return own, key[i+1:]
			}
		}
	}
	return "", nil
}

// ownKey returns the key if it names an object that belongs to one type, else "". Literals, since a conversion of key would allocate.
func ownKey(key []byte) string {
	switch string(key) {
	case "pass":
		return "pass"
	case "carry":
		return "carry"
	case "ball_receipt":
		return "ball_receipt"
	case "shot":
		return "shot"
	case "goalkeeper":
		return "goalkeeper"
	case "duel":
		return "duel"
	case "clearance":
		return "clearance"
	case "dribble":
		return "dribble"
	case "interception":
		return "interception"
	case "block":
		return "block"
	}
	return rareOwnKey(key)
}

func rareOwnKey(key []byte) string {
	switch string(key) {
	case "foul_committed":
		return "foul_committed"
	case "foul_won":
		return "foul_won"
	case "ball_recovery":
		return "ball_recovery"
	case "substitution":
		return "substitution"
	case "50_50":
		return "50_50"
	case "miscontrol":
		return "miscontrol"
	case "bad_behaviour":
		return "bad_behaviour"
	case "injury_stoppage":
		return "injury_stoppage"
	case "half_start":
		return "half_start"
	case "half_end":
		return "half_end"
	case "player_off":
		return "player_off"
	}
	return ""
}

// detailKey returns the object in which a type publishes its Detail, or "".
func detailKey(typeID int) string {
	switch typeID {
	case TypeBallReceipt:
		return "ball_receipt"
	case TypeGoalKeeper:
		return "goalkeeper"
	case TypeDuel:
		return "duel"
	case TypeClearance:
		return "clearance"
	case TypeDribble:
		return "dribble"
	case TypeInterception:
		return "interception"
	case TypeBlock:
		return "block"
	case TypeFoulCommitted:
		return "foul_committed"
	case TypeFoulWon:
		return "foul_won"
	case TypeBallRecovery:
		return "ball_recovery"
	case TypeFiftyFifty:
		return "50_50"
	case TypeMiscontrol:
		return "miscontrol"
	case TypeBadBehaviour:
		return "bad_behaviour"
	case TypeInjuryStoppage:
		return "injury_stoppage"
	case TypeHalfStart:
		return "half_start"
	case TypeHalfEnd:
		return "half_end"
	case TypePlayerOff:
		return "player_off"
	}
	return ""
}

// part makes the struct of an object that is there, even if it says nothing.
func part(s *scanner, e *Event, own string) {
	switch own {
	case "pass":
		if e.Pass == nil {
			e.Pass = s.room.pass()
		}
	case "carry":
		if e.Carry == nil {
			e.Carry = new(Carry)
		}
	case "shot":
		if e.Shot == nil {
			e.Shot = new(Shot)
		}
	case "substitution":
		if e.Substitution == nil {
			e.Substitution = new(Substitution)
		}
	default:
		if e.Detail == nil {
			e.Detail = new(Detail)
		}
	}
}

// ownField reads a field of an own object.
func ownField(s *scanner, e *Event, own string, field []byte) {
	part(s, e, own)
	switch own {
	case "pass":
		passField(s, e.Pass, field)
	case "carry":
		if string(field) == "end_location" {
			e.Carry.End = s.point()
		} else {
			s.skip()
		}
	case "shot":
		shotField(s, e.Shot, field)
	case "substitution":
		substitutionField(s, e.Substitution, field)
	case "foul_committed", "bad_behaviour":
		foulField(s, e, field)
	default:
		detailField(s, e.Detail, field)
	}
}

func passField(s *scanner, p *Pass, field []byte) {
	switch string(field) {
	case "recipient":
		s.refInto(&p.Recipient)
	case "recipient_id":
		p.Recipient.ID = s.small()
	case "length":
		p.Length = s.float()
	case "angle":
		p.Angle = s.float()
	case "height":
		p.Height = s.ref()
	case "end_location":
		p.End = s.point()
	case "body_part":
		p.BodyPart = s.ref()
	case "type":
		p.Type = s.ref()
		namePassType(&p.Type)
	case "outcome":
		p.Outcome = s.ref()
		namePassOutcome(&p.Outcome)
	case "technique":
		p.Technique = s.ref()
	case "assisted_shot_id":
		p.AssistedShot = s.own()
	case "cross":
		p.Cross = s.flag()
	case "switch":
		p.Switch = s.flag()
	case "shot_assist":
		p.ShotAssist = s.flag()
	case "goal_assist":
		p.GoalAssist = s.flag()
	case "through_ball":
		p.ThroughBall = s.flag()
	default:
		flagField(s, &p.Flags, field)
	}
}

func shotField(s *scanner, p *Shot, field []byte) {
	switch string(field) {
	case "statsbomb_xg":
		p.XG = s.float()
	case "end_location":
		p.End = s.point()
	case "outcome":
		p.Outcome = s.ref()
		nameShotOutcome(&p.Outcome)
	case "type":
		p.Type = s.ref()
		nameShotType(&p.Type)
	case "body_part":
		p.BodyPart = s.ref()
	case "technique":
		p.Technique = s.ref()
	case "key_pass_id":
		p.KeyPass = s.own()
	case "first_time":
		p.FirstTime = s.flag()
	case "one_on_one":
		p.OneOnOne = s.flag()
	case "freeze_frame":
		p.FreezeFrame = s.shotFrame()
	default:
		flagField(s, &p.Flags, field)
	}
}

func substitutionField(s *scanner, p *Substitution, field []byte) {
	switch string(field) {
	case "replacement":
		s.refInto(&p.Replacement)
	case "replacement_id":
		p.Replacement.ID = s.small()
	case "outcome":
		p.Outcome = s.ref()
	default:
		s.skip()
	}
}

func foulField(s *scanner, e *Event, field []byte) {
	switch string(field) {
	case "card":
		e.Card = s.ref()
		nameCard(&e.Card)
	case "penalty":
		e.Penalty = s.flag()
	default:
		detailField(s, e.Detail, field)
	}
}

func detailField(s *scanner, d *Detail, field []byte) {
	switch string(field) {
	case "type":
		d.Kind = s.ref()
	case "outcome":
		d.Outcome = s.ref()
	case "position":
		d.Position = s.ref()
	case "technique":
		d.Technique = s.ref()
	case "body_part":
		d.BodyPart = s.ref()
	case "end_location":
		d.End = s.point()
	default:
		flagField(s, &d.Flags, field)
	}
}

func flagField(s *scanner, f *Flags, field []byte) {
	flag := flagNamed(field)
	if flag == 0 {
		s.skip()
		return
	}
	if s.flag() {
		*f |= flag
	}
}
