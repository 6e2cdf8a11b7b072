package statsbomb

// Flattened rows carry names without ids. The functions below put in the ids that code asks for; other names keep id 0.

// TypeName returns the published name of an event type, or "" for an id that StatsBomb does not use.
func TypeName(id int) string {
	switch id {
	case TypeBallRecovery:
		return "Ball Recovery"
	case TypeDispossessed:
		return "Dispossessed"
	case TypeDuel:
		return "Duel"
	case TypeCameraOn:
		return "Camera On"
	case TypeBlock:
		return "Block"
	case TypeOffside:
		return "Offside"
	case TypeClearance:
		return "Clearance"
	case TypeInterception:
		return "Interception"
	case TypeDribble:
		return "Dribble"
	case TypeShot:
		return "Shot"
	case TypePressure:
		return "Pressure"
	case TypeHalfStart:
		return "Half Start"
	case TypeSubstitution:
		return "Substitution"
	case TypeOwnGoalAgainst:
		return "Own Goal Against"
	case TypeFoulWon:
		return "Foul Won"
	case TypeFoulCommitted:
		return "Foul Committed"
	case TypeGoalKeeper:
		return "Goal Keeper"
	}
	return laterTypeName(id)
}

func laterTypeName(id int) string {
	switch id {
	case TypeBadBehaviour:
		return "Bad Behaviour"
	case TypeOwnGoalFor:
		return "Own Goal For"
	case TypePlayerOn:
		return "Player On"
	case TypePlayerOff:
		return "Player Off"
	case TypeShield:
		return "Shield"
	case TypeCameraOff:
		return "Camera off"
	case TypePass:
		return "Pass"
	case TypeFiftyFifty:
		return "50/50"
	case TypeHalfEnd:
		return "Half End"
	case TypeStartingXI:
		return "Starting XI"
	case TypeTacticalShift:
		return "Tactical Shift"
	case TypeError:
		return "Error"
	case TypeMiscontrol:
		return "Miscontrol"
	case TypeDribbledPast:
		return "Dribbled Past"
	case TypeInjuryStoppage:
		return "Injury Stoppage"
	case TypeRefereeBallDrop:
		return "Referee Ball-Drop"
	case TypeBallReceipt:
		return "Ball Receipt*"
	case TypeCarry:
		return "Carry"
	}
	return ""
}

// nameType puts the id to a type that came by name, and the name to one that came by id. "Ball Receipt" without its star
// is in streams that were made by hand.
func nameType(r *Ref) {
	if r.ID != 0 {
		if r.Name == "" {
			r.Name = TypeName(r.ID)
		}
		return
	}
	if r.Name == "Ball Receipt" {
		r.Name = TypeName(TypeBallReceipt)
	}
	for id := TypeBallRecovery; id <= TypeCarry && r.Name != ""; id++ {
		if TypeName(id) == r.Name {
			r.ID = id
			return
		}
	}
}

func namePassType(r *Ref) {
	fill(r, Ref{61, "Corner"}, Ref{62, "Free Kick"}, Ref{63, "Goal Kick"}, Ref{64, "Interception"}, Ref{65, "Kick Off"},
		Ref{66, "Recovery"}, Ref{67, "Throw-in"})
}

func namePassOutcome(r *Ref) {
	fill(r, Ref{9, "Incomplete"}, Ref{74, "Injury Clearance"}, Ref{75, "Out"}, Ref{76, "Pass Offside"}, Ref{77, "Unknown"})
}

func nameShotOutcome(r *Ref) {
	fill(r, Ref{96, "Blocked"}, Ref{OutcomeGoal, "Goal"}, Ref{98, "Off T"}, Ref{99, "Post"}, Ref{OutcomeSaved, "Saved"},
		Ref{101, "Wayward"}, Ref{115, "Saved Off Target"}, Ref{116, "Saved to Post"})
}

func nameShotType(r *Ref) {
	fill(r, Ref{61, "Corner"}, Ref{62, "Free Kick"}, Ref{65, "Kick Off"}, Ref{87, "Open Play"}, Ref{88, "Penalty"})
}

func nameCard(r *Ref) {
	fill(r, Ref{CardRed, "Red Card"}, Ref{CardSecondYellow, "Second Yellow"}, Ref{CardYellow, "Yellow Card"})
}

// fill completes a ref of which only the name is known.
func fill(r *Ref, known ...Ref) {
	if r.ID != 0 || r.Name == "" {
		return
	}
	for _, k := range known {
		if k.Name == r.Name {
			r.ID = k.ID
			return
		}
	}
}
