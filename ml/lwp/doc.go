// Package lwp estimates, minute by minute, how likely a match is to end in a home win, a draw or an away win after 90
// minutes (live win probability): from the state of the match and from what earlier matches say of the two teams. It
// ends at the probability: charts, streams and sinks are other rooms', which pass events in and take numbers out.
//
// A [State] sums up the events seen so far; it does not depend on their order and is the same in a table and in a
// stream. [Ratings] follow the teams through earlier results and give a [Prior]. Both together are a row.
//
// Five targets can be learned. Outcome: a forest of classes answers with the three probabilities, which Config.Calibrate puts
// right. RemainingGoals: a forest of numbers answers by how many times each side will outscore what its prior promises for the
// time that is left; two Poisson variables with these means decide the match (Skellam). It reads time and prior through
// their known effect, so its trees need to learn only what the match itself adds. Average: Poisson regressions of remaining
// goals, by several measures of the teams' strength, and a forest of what they miss, averaged on the logarithms of their rates;
// the forest's weight is chosen by forward chaining inside the training matches. Regression is one such regression alone, and
// Published the plainest of all: it knows no more of the teams than Elo. Another [Classifier] can learn Outcome in
// the forest's place; package nn's networks do. All of them stand behind one seam (estimator.go) and serve tables and streams.
//
// [Choose] chooses among kinds of models inside the training matches. [Evaluate] compares them with what they have to beat, on
// matches that had no say in the choice, and [Report.Verdict] says in words how good the chosen one is. [FitBand] tells how far probabilities depend on the matches that
// were there to learn from.
//
// Rules that keep the figures honest: matches are split by date, never rows; a row sees only events of minutes before
// its own; ratings come from days before the match; goals of extra time and shoot-outs are not in the label; the class
// order home, draw, away lives in the model file.
package lwp
