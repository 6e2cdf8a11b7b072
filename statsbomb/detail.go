package statsbomb

// Detail is what an event of a type without a struct of its own says beyond the fields that all events have: the
// objects "duel", "goalkeeper", "dribble", "ball_receipt" and so on. A card and a penalty given away stand in the Event.
type Detail struct {
	Kind      Ref // duel.type, goalkeeper.type, foul_committed.type
	Outcome   Ref
	Position  Ref // of the goalkeeper: Set, Moving, Prone
	Technique Ref
	BodyPart  Ref
	End       *Point
	Flags     Flags
}

// Flags is a set of yes-or-no qualifiers that few readers ask for, published only where true.
type Flags uint64

// The qualifiers of a pass, a shot or a Detail that have no field of their own, named as StatsBomb names them.
const (
	FlagAdvantage Flags = 1 << iota
	FlagAerialWon
	FlagCutBack
	FlagDefensive
	FlagDeflected
	FlagDeflection
	FlagEarlyVideoEnd
	FlagFollowsDribble
	FlagHead
	FlagInChain
	FlagInswinging
	FlagLateVideoStart
	FlagLeftFoot
	FlagLostInPlay
	FlagLostOut
	FlagMatchSuspended
	FlagMiscommunication
	FlagNoTouch
	FlagNutmeg
	FlagOffensive
	FlagOpenGoal
	FlagOther
	FlagOutswinging
	FlagOverrun
	FlagPenalty
	FlagPermanent
	FlagPunchedOut
	FlagRecoveryFailure
	FlagRedirect
	FlagRightFoot
	FlagSaveBlock
	FlagSavedOffTarget
	FlagSavedToPost
	FlagShotSavedOffTarget
	FlagShotSavedToPost
	FlagStraight
	FlagSuccessInPlay
	FlagSuccessOut
	flagEnd
)

// flagNames returns the published names in the order of the bits.
func flagNames() []string {
	return []string{
		"advantage", "aerial_won", "cut_back", "defensive", "deflected", "deflection", "early_video_end", "follows_dribble",
		"head", "in_chain", "inswinging", "late_video_start", "left_foot", "lost_in_play", "lost_out", "match_suspended",
		"miscommunication", "no_touch", "nutmeg", "offensive", "open_goal", "other", "outswinging", "overrun", "penalty",
		"permanent", "punched_out", "recovery_failure", "redirect", "right_foot", "save_block", "saved_off_target",
		"saved_to_post", "shot_saved_off_target", "shot_saved_to_post", "straight", "success_in_play", "success_out",
	}
}

// flagNamed returns the flag with a published name, or 0.
func flagNamed(key []byte) Flags {
	for i, n := range flagNames() {
		if n == string(key) {
			return 1 << i
		}
	}
	return 0
}
