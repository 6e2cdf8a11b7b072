// Package simulate plays a load of jobs against workers on a clock of its own: how a policy would have placed them, and when all had been
// done. It ends at the numbers: it runs no job, and takes from the load how long each one takes on a CPU and on a GPU.
//
// A [Policy] is asked after each event. There are that of package placement ([Predicted]), and those which it is compared with: the two queues of the
// contract ([PreferGPU]), turns ([RoundRobin], [TwoQueues]) and one queue for all ([Shared]). The same load and policy give the same result, always.
package simulate
