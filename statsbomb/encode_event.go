package statsbomb

// event writes all members of an event, in the order of the published files.
func (w *writer) event(e *Event) {
	w.begin()
	w.text("id", e.ID)
	w.integer("index", int64(e.Index))
	w.integer("period", int64(e.Period))
	w.timestamp("timestamp", e.Timestamp)
	w.integer("minute", int64(e.Minute))
	w.integer("second", int64(e.Second))
	w.ref("type", e.Type)
	w.integer("possession", int64(e.Possession))
	w.ref("possession_team", e.PossessionTeam)
	w.ref("play_pattern", e.PlayPattern)
	w.ref("team", e.Team)
	w.ref("player", e.Player)
	w.ref("position", e.Position)
	w.point("location", e.Location)
	if publishesDuration(e) {
		w.float("duration", e.Duration)
	}
	w.flag("under_pressure", e.UnderPressure)
	w.flag("off_camera", e.OffCamera)
	w.flag("counterpress", e.CounterPress)
	w.flag("out", e.Out)
	w.texts("related_events", e.RelatedEvents)
	w.parts(e)
	if e.MatchID != 0 {
		w.integer("match_id", e.MatchID)
	}
	if e.FreezeFrame != nil {
		w.frame(e.FreezeFrame)
	}
	if e.VisibleArea != nil {
		w.floats("visible_area", e.VisibleArea)
	}
	w.close('}')
}

// publishesDuration tells whether a duration is written: all types but Ball Receipt* have one, 0.0 as a rule, in matches
// published in full, whose events have ids.
func publishesDuration(e *Event) bool {
	return e.Duration != 0 || e.ID != "" && e.Type.ID != TypeBallReceipt
}

// parts writes what belongs to the event's type.
func (w *writer) parts(e *Event) {
	if e.Tactics != nil {
		w.tactics(e.Tactics)
	}
	if e.Pass != nil {
		w.pass(e.Pass)
	}
	if e.Carry != nil {
		w.object("carry")
		w.point("end_location", e.Carry.End)
		w.close('}')
	}
	if e.Shot != nil {
		w.shot(e.Shot)
	}
	if e.Substitution != nil {
		w.object("substitution")
		w.ref("outcome", e.Substitution.Outcome)
		w.ref("replacement", e.Substitution.Replacement)
		w.close('}')
	}
	if key := detailKey(e.Type.ID); key != "" && (e.Detail != nil || e.Penalty || e.Card != Ref{}) {
		w.detail(key, e)
	}
}

func (w *writer) detail(key string, e *Event) {
	w.object(key)
	if e.Type.ID == TypeFoulCommitted || e.Type.ID == TypeBadBehaviour {
		w.ref("card", e.Card)
	}
	penalty := e.Type.ID == TypeFoulCommitted && e.Penalty
	w.flag("penalty", penalty)
	if d := e.Detail; d != nil {
		w.ref("type", d.Kind)
		w.ref("outcome", d.Outcome)
		w.ref("position", d.Position)
		w.ref("technique", d.Technique)
		w.ref("body_part", d.BodyPart)
		w.point("end_location", d.End)
		flags := d.Flags
		if e.Type.ID == TypeFoulCommitted {
			flags &^= FlagPenalty // written above
		}
		w.flags(flags)
	}
	w.close('}')
}

func (w *writer) pass(p *Pass) {
	w.object("pass")
	w.ref("recipient", p.Recipient)
	if p.Length != 0 || p.Angle != 0 || p.Height != (Ref{}) { // matches published in short have neither
		w.float("length", p.Length)
		w.float("angle", p.Angle)
	}
	w.ref("height", p.Height)
	w.point("end_location", p.End)
	w.ref("body_part", p.BodyPart)
	w.ref("type", p.Type)
	w.ref("outcome", p.Outcome)
	w.ref("technique", p.Technique)
	w.text("assisted_shot_id", p.AssistedShot)
	w.flag("cross", p.Cross)
	w.flag("switch", p.Switch)
	w.flag("shot_assist", p.ShotAssist)
	w.flag("goal_assist", p.GoalAssist)
	w.flag("through_ball", p.ThroughBall)
	w.flags(p.Flags)
	w.close('}')
}

func (w *writer) shot(p *Shot) {
	w.object("shot")
	w.float("statsbomb_xg", p.XG)
	w.point("end_location", p.End)
	w.text("key_pass_id", p.KeyPass)
	w.ref("outcome", p.Outcome)
	w.ref("type", p.Type)
	w.ref("body_part", p.BodyPart)
	w.ref("technique", p.Technique)
	w.flag("first_time", p.FirstTime)
	w.flag("one_on_one", p.OneOnOne)
	w.flags(p.Flags)
	if p.FreezeFrame != nil {
		w.shotFrame(p.FreezeFrame)
	}
	w.close('}')
}

func (w *writer) shotFrame(players []ShotPlayer) {
	w.key("freeze_frame")
	w.out = append(w.out, '[')
	for _, p := range players {
		w.comma()
		w.begin()
		w.place("location", p.Location)
		w.ref("player", p.Player)
		w.ref("position", p.Position)
		w.bool("teammate", p.Teammate)
		w.close('}')
	}
	w.close(']')
}

func (w *writer) frame(players []FramePlayer) {
	w.key("freeze_frame")
	w.out = append(w.out, '[')
	for _, p := range players {
		w.comma()
		w.begin()
		w.bool("teammate", p.Teammate)
		w.bool("actor", p.Actor)
		w.bool("keeper", p.Keeper)
		w.place("location", p.Location)
		w.close('}')
	}
	w.close(']')
}

func (w *writer) tactics(t *Tactics) {
	w.object("tactics")
	w.integer("formation", int64(t.Formation))
	if t.Lineup != nil {
		w.key("lineup")
		w.out = append(w.out, '[')
		for _, p := range t.Lineup {
			w.comma()
			w.begin()
			w.ref("player", p.Player)
			w.ref("position", p.Position)
			w.integer("jersey_number", int64(p.Jersey))
			w.close('}')
		}
		w.close(']')
	}
	w.close('}')
}
