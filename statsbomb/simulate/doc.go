// Package simulate makes football matches that never were, in the schema of StatsBomb's events: for tests, for notebooks on
// a machine without match data, and for an endless stream. It ends at the match; how fast matches are played into a stream
// is not its business. Clubs and players are invented.
//
// # The process
//
// No model that learns from these matches is true by construction: goals come out of a chain of play with hidden states, not
// out of a rate.
//
//   - Each club has a strength in attack, in defence and on the ball. They are correlated (rich clubs are good at all three),
//     drift from week to week by a mean-reverting walk, and are shaken between seasons.
//   - A match adds what no table shows: each side's form of the day, a tempo common to both, each side's finishing of the day.
//     Matches are therefore overdispersed against any model of rates given the strengths. The home side gains in attack and
//     on the ball.
//   - Play is a chain of touches. The holder carries, is pressed, and then passes, dribbles, shoots, is fouled, dispossessed, or
//     loses control, with odds that depend on the place, the pressure and both sides. Passes succeed by length, place,
//     pressure and control; what is lost becomes a recovery, interception, clearance, block or restart.
//   - The hazard of a shot at a touch falls with the distance. It is multiplied by attack against defence, the tempo, the
//     clock (more late than early), the score (a side that trails shoots more and, late, leaves itself open to better chances;
//     a side that leads sits back) and the players on the pitch (ten men shoot less, concede more and keep the ball worse).
//   - A chance has a true quality from distance, angle, head or foot, plus what the place does not tell. The published xG sees
//     it through noise. A goal falls with the true quality times finishing, so xG informs but is not the rate either.
//   - Fouls bring free kicks, penalties and cards, by player: a booked player is careful, a second booking sends him off.
//     Now and then a defender puts the ball into his own net.
//
// The constants were set so that the totals of many matches come near those of real ones (the package's tests hold the
// ranges); xG's are rounded from a fit to the shots of StatsBomb Open Data.
//
// # Determinism
//
// A seed gives the same matches on every machine: each match draws from its own generator (PCG, seeded by the seed and the
// match's number), published numbers are rounded, and 360 frames draw from a generator apart, so that matches with and without
// frames are the same but for the frames. A match is simulated when its events are asked for, alone.
package simulate
