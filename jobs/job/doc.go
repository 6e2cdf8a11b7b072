// Package job says what a job is: what somebody asks for (Spec), in which states it can be (State), what is known of it (Job), and how both
// are written as the JSON of the contract that foreign programs speak. It ends there: it reads no clock, keeps nothing and sends nothing.
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
//	key           two jobs of one key, type and parameters are one job: the second submission is answered with the first one's result, unless that
//	              has failed; with others it is refused. Keys are no ids: a key "a" and the job_id "a" are of different jobs
//	not_before    Unix seconds, or RFC 3339: when it may begin
//	deadline      likewise: when it is of no use any more; a job that has not ended by then is failed
//	timeout       seconds that one attempt may take
//	max_attempts  1 to 100; missing: 3
//	after         ids of jobs that must have completed first
//	result_ttl    seconds for which the result is kept; missing: a day
//	reply_to      the queue that the result goes to instead of result_queue; missing: the message's own, also one that the server has named (amq.gen-…)
//
// The four types that every worker runs know these parameters; the result lists all else under "ignored":
//
//	matrix_multiply   size (of N × N matrices; or m, n, k), iterations (1): products
//	vector_addition   size, iterations (1): sums
//	image_processing  image_size (a side, or [width, height]), batch_size (1) of pictures, iterations (1): passes over each, operation (blur, sharpen, edges, grayscale)
//	neural_network    epochs, batch_size, input_size, hidden_size, output_size: two layers, trained by Adam on one batch an epoch
//	all               seed, of the numbers that they make
//
// # The result
//
//	job_id, job_type, status       status is completed, failed, cancelled or dead
//	worker_id, worker_type, device who ran it last: its name, cpu or gpu, the device's model
//	processing_time                seconds that the last attempt ran; execution_time is another name of it
//	queue_time                     seconds from the submission until it began
//	submitted_at, started_at, completed_at   Unix seconds
//	attempt, attempts              the number of the last attempt, and how many have begun
//	same_as                        the job_id of the job before it of the same key: this one did not run, and has that one's result and times
//	result, or error and reason    what it returned, or why there is nothing; why it went there
//	predicted                      seconds by device, before it ran
//
// A result may come more than once: a scheduler that is killed between sending it and noting that sends it again, a submission that comes
// again is answered again, and RabbitMQ delivers again what its reader has not acknowledged. All of one job are the same but for
// "redelivered": true, which those have that the scheduler may have sent before, and, where it was killed in between, for completed_at.
// Readers take the first one of a job_id and its attempt: a job that was replayed has a higher one.
//
// The message of a result has the job's id as message id, and as correlation id that of the submission, or else the job's id.
//
// Any other field is kept and comes back in the result, as it was: numbers with all of their digits. One that is called as a field of
// results ("status", "error", "result") comes back in an object "job_fields" there. Names are told apart by case. An object with two fields
// of one name is refused, and so is a number that is written as a text; null is as if the field were not there. A byte order mark is
// ignored.
package job
