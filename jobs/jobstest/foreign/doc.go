// Package foreign holds the jobs to their contract with programs that know nothing of this house: Python's pika on a real RabbitMQ submits
// jobs, reads their results, and takes them as a worker would. It has no code of its own, only that test, which scripts/pika.sh runs.
package foreign
