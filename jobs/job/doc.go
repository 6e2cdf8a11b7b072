// Package job says what a job is: what somebody asks for (Spec), in which states it can be (State), what is known of it (Job), and how both are written as
// the JSON of the contract that foreign programs speak. It ends there: it reads no clock, keeps nothing and sends nothing.
//
// # The contract
//
// A job is submitted as a JSON object:
//
//	{"job_type": "matrix_multiply", "job_id": "a-1", "prefer_gpu": true, "parameters": {"size": 1024}}
//
// job_type is needed. The parameters may stand in an object "parameters" (or "params", or "data"), or beside the other fields. All else is optional:
//
//	job_id        text or number; missing: the message's id, else one is made; the same id with the same type and parameters is the same job, submitted
//	              again, and is answered with its result; with others it is refused
//	prefer_gpu    a wish, not an order
//	schema        1; another number is refused, for its fields may mean something else
//	device        "cpu" or "gpu": an order; "auto": none
//	priority      0 to 9, 9 first; missing: the message's own, which is 0 where none was set
//	key           two jobs of one key are one job: the second submission is answered with the first one's result; missing: job_id
//	not_before    Unix seconds, or RFC 3339: when it may begin
//	deadline      likewise: when it is of no use any more; a job that has not ended by then is failed
//	timeout       seconds that one attempt may take
//	max_attempts  1 to 100; missing: 3
//	after         ids of jobs that must have completed first
//	result_ttl    seconds for which the result is kept; missing: a day
//	reply_to      the queue that the result goes to instead of result_queue; missing: the message's own, also one that the server has named (amq.gen-…)
//
// The message of a result has the job's id as message id, and as correlation id that of the submission, or else the job's id.
//
// Any other field is kept and comes back in the result, as it was: numbers with all of their digits. One that is called as a field of results ("status", "error",
// "result") comes back in an object "job_fields" there. Names are told apart by case. An object with two fields of one name is refused, and so is a number
// that is written as a text; null is as if the field were not there. A byte order mark is ignored.
package job
