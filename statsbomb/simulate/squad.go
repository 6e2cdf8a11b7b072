package simulate

import (
	"cancha/statsbomb"
)

// player is a man of a squad with his place in the formation.
type player struct {
	ref       statsbomb.Ref
	position  statsbomb.Ref
	home      statsbomb.Point // where he stands when the ball is at the centre, as his own side attacks
	jersey    int
	finishing float64 // factor on the true quality of his chances
}

// club is a side with its squad: eleven who start and seven on the bench.
type club struct {
	ref       statsbomb.Ref
	formation int
	squad     [squadSize]player
}

const (
	starters  = 11
	squadSize = 18
)

// place is a position of a formation.
type place struct {
	id   int
	name string
	x, y float64
}

// formations returns the line-ups that clubs choose from; the goalkeeper stands first, forwards last. Position ids and names
// are StatsBomb's.
func formations() map[int][starters]place {
	keeper := place{1, "Goalkeeper", 6, 40}
	rb, rcb, lcb, lb := place{2, "Right Back", 34, 70}, place{3, "Right Center Back", 26, 50}, place{5, "Left Center Back", 26, 30}, place{6, "Left Back", 34, 10}
	return map[int][starters]place{
		433: {keeper, rb, rcb, lcb, lb, {10, "Center Defensive Midfield", 46, 40}, {13, "Right Center Midfield", 56, 54}, {15, "Left Center Midfield", 56, 26},
			{17, "Right Wing", 78, 68}, {21, "Left Wing", 78, 12}, {23, "Center Forward", 86, 40}},
		442: {keeper, rb, rcb, lcb, lb, {12, "Right Midfield", 60, 68}, {13, "Right Center Midfield", 50, 50}, {15, "Left Center Midfield", 50, 30},
			{16, "Left Midfield", 60, 12}, {22, "Right Center Forward", 82, 48}, {24, "Left Center Forward", 82, 32}},
		4231: {keeper, rb, rcb, lcb, lb, {9, "Right Defensive Midfield", 46, 50}, {11, "Left Defensive Midfield", 46, 30}, {17, "Right Wing", 74, 68},
			{19, "Center Attacking Midfield", 70, 40}, {21, "Left Wing", 74, 12}, {23, "Center Forward", 86, 40}},
		352: {keeper, {3, "Right Center Back", 28, 58}, {4, "Center Back", 24, 40}, {5, "Left Center Back", 28, 22}, {7, "Right Wing Back", 54, 72},
			{13, "Right Center Midfield", 52, 52}, {10, "Center Defensive Midfield", 44, 40}, {15, "Left Center Midfield", 52, 28}, {8, "Left Wing Back", 54, 8},
			{22, "Right Center Forward", 82, 48}, {24, "Left Center Forward", 82, 32}},
	}
}

// clubNames returns maxTeams invented clubs.
func clubNames() []string {
	return []string{
		"Puerto Alba", "Real Cárdeno", "Atlético Lumbre", "Unión Marisma", "Deportivo Sauces", "Racing Obsidia", "Villa Cobre", "Estrella del Páramo",
		"Nieves FC", "Halcones de Brea", "San Telmo Norte", "Cerro Azafrán", "Olivar 1908", "Fénix de Torrealta", "Ribera Sport", "Mirador CF",
		"Encinas Athletic", "Costa Brezo", "Juventud Quebrada", "Ciudad Ámbar", "Tranvía United", "Faro Oeste", "Molinos de Iria", "Bahía Cobalto",
	}
}

// newClub makes a club with invented players. The same number and seed give the same club.
func newClub(seed uint64, number int) *club {
	d := newDice(seed, streamSquads+uint64(number))
	c := &club{ref: statsbomb.Ref{ID: 9001 + number, Name: clubNames()[number]}}
	c.formation = []int{433, 4231, 442, 352}[d.pick(.35, .3, .22, .13)]
	places := formations()[c.formation]
	for i := range c.squad {
		p := &c.squad[i]
		at := places[min(i, starters-1)]
		if i >= starters {
			at = places[benchRole(i)]
		}
		p.position = statsbomb.Ref{ID: at.id, Name: at.name}
		p.home = statsbomb.Point{X: at.x, Y: at.y}
		p.jersey = i + 1
		p.finishing = clamp(d.normal(1, .08), .7, 1.3)
		p.ref = statsbomb.Ref{ID: c.ref.ID*100 + i, Name: playerName(d)}
	}
	return c
}

// benchRole returns the place in the formation that a man of the bench covers.
func benchRole(i int) int { return [...]int{0, 2, 4, 6, 7, 9, 10}[i-starters] }

func playerName(d dice) string {
	first := [...]string{"Aldo", "Bento", "Ciro", "Dario", "Elio", "Fermín", "Gael", "Hugo", "Iker", "Jonás", "Kai", "Leo", "Marco", "Nilo", "Óscar",
		"Pío", "Quique", "Ramiro", "Saúl", "Tomás", "Unai", "Vito", "Yago", "Zeno"}
	head := [...]string{"Al", "Bar", "Cor", "Dal", "Es", "Fer", "Gar", "Her", "Ir", "Jar", "Lor", "Mar", "Nor", "Or", "Per", "Quin", "Ros", "Sal", "Tor", "Ur", "Val", "Zar"}
	middle := [...]string{"a", "e", "i", "o", "u", "an", "en", "or", "ar", "el"}
	tail := [...]string{"bal", "cio", "dón", "fiel", "guín", "lez", "mira", "nal", "pino", "rosa", "sol", "tera", "veda", "zar"}
	return first[d.IntN(len(first))] + " " + head[d.IntN(len(head))] + middle[d.IntN(len(middle))] + tail[d.IntN(len(tail))]
}
