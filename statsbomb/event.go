package statsbomb

import "time"

// Pitch size in yards. Each team's own attack runs from x = 0 to x = Length; y grows downward from the top left.
const (
	Length = 120.0
	Width  = 80.0
)

// Event types that the code names. The ids are StatsBomb's and never change; the names carry traps ("Ball Receipt*").
const (
	TypeBallRecovery    = 2
	TypeDispossessed    = 3
	TypeDuel            = 4
	TypeCameraOn        = 5
	TypeBlock           = 6
	TypeOffside         = 8
	TypeClearance       = 9
	TypeInterception    = 10
	TypeDribble         = 14
	TypeShot            = 16
	TypePressure        = 17
	TypeHalfStart       = 18
	TypeSubstitution    = 19
	TypeOwnGoalAgainst  = 20
	TypeFoulWon         = 21
	TypeFoulCommitted   = 22
	TypeGoalKeeper      = 23
	TypeBadBehaviour    = 24
	TypeOwnGoalFor      = 25
	TypePlayerOn        = 26
	TypePlayerOff       = 27
	TypeShield          = 28
	TypeCameraOff       = 29
	TypePass            = 30
	TypeFiftyFifty      = 33
	TypeHalfEnd         = 34
	TypeStartingXI      = 35
	TypeTacticalShift   = 36
	TypeError           = 37
	TypeMiscontrol      = 38
	TypeDribbledPast    = 39
	TypeInjuryStoppage  = 40
	TypeRefereeBallDrop = 41
	TypeBallReceipt     = 42
	TypeCarry           = 43
)

// Outcomes and cards that decide a match.
const (
	OutcomeGoal      = 97
	OutcomeSaved     = 100
	CardYellow       = 7
	CardSecondYellow = 6
	CardRed          = 5
)

// Ref is a StatsBomb id with its name. The zero Ref means absent.
type Ref struct {
	ID   int    `json:"id"`
	Name string `json:"name"`
}

// Point is a place on the pitch in yards; Z, the height, is set for shots that end in the air. A nil *Point is absent.
type Point struct{ X, Y, Z float64 }

// Event is one event of a match. What an event lacks is its zero value, or nil where zero means something.
type Event struct {
	ID             string
	MatchID        int64
	Index          int           // 1..n within the match
	Period         int           // 1, 2 halves; 3, 4 extra time; 5 shoot-out
	Timestamp      time.Duration // since the start of the period
	Minute, Second int
	Type           Ref
	Possession     int
	PossessionTeam Ref
	PlayPattern    Ref
	Team           Ref
	Player         Ref
	Position       Ref
	Location       *Point
	Duration       float64 // seconds
	UnderPressure  bool
	OffCamera      bool
	CounterPress   bool
	Out            bool
	RelatedEvents  []string

	// Each is nil unless the event carries that part.
	Pass         *Pass
	Carry        *Carry
	Shot         *Shot
	Card         Ref  // of foul_committed or bad_behaviour
	Penalty      bool // foul_committed.penalty
	Substitution *Substitution
	Tactics      *Tactics // of Starting XI and Tactical Shift
	Detail       *Detail  // what the other types say of their own: see Detail

	FreezeFrame []FramePlayer // 360: who the camera saw
	VisibleArea []float64     // 360: polygon x1, y1, x2, y2, …
}

// Pass is a pass's own part of an event. The zero Outcome means complete.
type Pass struct {
	Recipient    Ref
	Length       float64 // yards, as published
	Angle        float64 // radians, 0 towards the opponent's goal
	Height       Ref
	End          *Point
	BodyPart     Ref
	Type         Ref // Corner 61, Free Kick 62, Goal Kick 63, Throw-in 67, Kick Off 65
	Outcome      Ref // Incomplete 9, Out 75, Offside 76, Unknown 77, Injury Clearance 74
	Technique    Ref
	AssistedShot string // id of the shot that the pass made
	Cross        bool
	Switch       bool
	ShotAssist   bool
	GoalAssist   bool
	ThroughBall  bool
	Flags        Flags // the other yes-or-no qualifiers
}

// Carry is a carry's own part of an event.
type Carry struct{ End *Point }

// Shot is a shot's own part of an event.
type Shot struct {
	XG          float64 // StatsBomb's expected goals, 0..1
	End         *Point
	Outcome     Ref
	Type        Ref // Open Play 87, Free Kick 62, Penalty 88, Corner 61
	BodyPart    Ref
	Technique   Ref
	KeyPass     string // id of the pass that made the shot
	FirstTime   bool
	OneOnOne    bool
	FreezeFrame []ShotPlayer
	Flags       Flags // the other yes-or-no qualifiers
}

// ShotPlayer is a player in a shot's own freeze frame.
type ShotPlayer struct {
	Location Point
	Player   Ref
	Position Ref
	Teammate bool
}

// FramePlayer is a player in a 360 frame; only the actor is known by name, through the event.
type FramePlayer struct {
	Location Point
	Teammate bool
	Actor    bool
	Keeper   bool
}

// Substitution is a substitution's own part of an event; the event's Player goes off.
type Substitution struct{ Replacement, Outcome Ref }

// Tactics is a side's formation and, where published, who plays where in it.
type Tactics struct {
	Formation int // such as 442
	Lineup    []TacticsPlayer
}

// TacticsPlayer is a player's place in Tactics.
type TacticsPlayer struct {
	Player, Position Ref
	Jersey           int
}

// Goal reports whether the event is a goal, and credits it to Team: a shot with outcome Goal in periods 1 to 4, or an own
// goal for. A shoot-out never counts.
func (e *Event) Goal() bool {
	if e.Period > 4 {
		return false
	}
	return e.Type.ID == TypeOwnGoalFor || e.Shot != nil && e.Type.ID == TypeShot && e.Shot.Outcome.ID == OutcomeGoal
}

// Red reports whether the event sends a player of Team off: a red or second yellow card.
func (e *Event) Red() bool { return e.Card.ID == CardRed || e.Card.ID == CardSecondYellow }

// Match is a match as the open data list it.
type Match struct {
	ID          int64
	Date        string // YYYY-MM-DD
	KickOff     string // HH:MM:SS.mmm local time, empty if unknown
	Competition Ref
	Season      Ref
	Stage       Ref
	Week        int
	Home, Away  Ref
	Managers    [2][]Ref // home, away; empty where not published
	Stadium     Ref
	Referee     Ref
	// Final score after extra time, without the shoot-out.
	HomeScore, AwayScore int
	NoScore              bool   // the list has none, as for a match that is still to be played
	Status               string // "available"
	Status360            string
	Neutral              bool // played where neither side is at home: tournaments
}

// Competition is one season of a competition.
type Competition struct {
	Competition, Season Ref
	Country             string
}

// Archive is a set of matches with their events: a folder in StatsBomb's layout, or the simulator.
type Archive interface {
	// Source tells where the matches come from: "open-data", "api" or "simulator".
	Source() string
	// Matches returns all matches listed, ordered by date, kick-off and id. The slice is the caller's.
	Matches() []Match
	// Events returns a match's events ordered by (period, index), with 360 frames joined where there are any.
	// A match that is listed but has no events gives ErrNoEvents.
	Events(matchID int64) ([]Event, error)
}
