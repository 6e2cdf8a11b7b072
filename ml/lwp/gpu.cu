// Rows of features of match states, the formulas of features.go. Each step rounds as it does there, so the rows are those of the CPU to the bit.

#include "func.cuh"

// What is counted of a state, in this order: goals, red cards, shots on target, entries into the final third and into the box, home then away, and the
// minute; expected goals in billionths apart. A state's prior is the goals expected of home and away, and the Elo of home less that of away.
#define COUNTS 11
#define MINUTE 10
#define FULL_TIME 94.0
#define XG_UNIT 1e9

struct View {
	int goals, other_goals, reds, other_reds, on_target, other_on_target, third, other_third, box, other_box;
	double xg, other_xg, prior, against, elo, left;
};

// view is the match as one side sees it: side 0 is home.
__device__ inline View view(const int *counts, const long long *xg, const double *prior, int side) {
	int own = side, other = 1 - side;
	double left = FULL_TIME - counts[MINUTE];
	return {counts[own],     counts[other],     counts[2 + own], counts[2 + other], counts[4 + own], counts[4 + other],     counts[6 + own], counts[6 + other],
	        counts[8 + own], counts[8 + other], xg[own] / XG_UNIT, xg[other] / XG_UNIT, prior[own],   prior[other], side ? -prior[2] : prior[2], left < 0.5 ? 0.5 : left};
}

__device__ inline double share(int a, int b, double some) { return (a + some) / ((a + b) + 2 * some); }

FUNC lwp_outcome_rows(float *rows, const int *counts, const long long *xg, const double *priors, int n) {
	EACH(i, n) {
		View v = view(counts + i * COUNTS, xg + 2 * i, priors + 3 * i, 0);
		float *row = rows + 11 * i;
		double lead = v.goals - v.other_goals, left = v.left / FULL_TIME;
		row[0] = v.left;
		row[1] = lead;
		row[2] = lead / sqrt(v.left);
		row[3] = v.other_reds - v.reds;
		row[4] = v.elo * left;
		row[5] = (v.prior - v.against) * left;
		row[6] = (v.prior + v.against) * left;
		row[7] = v.xg - v.other_xg;
		row[8] = v.on_target - v.other_on_target;
		row[9] = share(v.third, v.other_third, 5);
		row[10] = share(v.box, v.other_box, 3);
	}
}

FUNC lwp_goal_rows(float *rows, const int *counts, const long long *xg, const double *priors, int n) {
	EACH(at, 2LL * n) {
		long long i = at / 2;
		View v = view(counts + i * COUNTS, xg + 2 * i, priors + 3 * i, at % 2);
		float *row = rows + 8 * at;
		double lead = v.goals - v.other_goals, elapsed = (FULL_TIME - v.left) / FULL_TIME;
		row[0] = v.left;
		row[1] = lead;
		row[2] = lead / sqrt(v.left);
		row[3] = v.other_reds - v.reds;
		row[4] = v.xg - v.prior * elapsed;
		row[5] = v.other_xg - v.against * elapsed;
		row[6] = share(v.third, v.other_third, 5);
		row[7] = share(v.box, v.other_box, 3);
	}
}
