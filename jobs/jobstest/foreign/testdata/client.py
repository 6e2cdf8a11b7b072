"""A producer and consumer as one writes them with pika: the four queues of the contract, durable, and no arguments.

    client.py URL declare              declares them
    client.py URL submit               publishes the lines of stdin to job_queue, persistent
    client.py URL send                 publishes objects {"body": text, ...properties} of stdin, a line each, with these properties alone
    client.py URL results QUEUE N      reads N results, acknowledges each, and prints {"body": text, ...properties} for each
    client.py URL call                 submits the first line of stdin with an exclusive queue of the server's naming as reply_to, and prints the answer
    client.py URL worker QUEUE N       takes N jobs of a queue as the contract's workers do: runs none, and answers each into result_queue
"""

import json
import sys

import pika

QUEUES = ["job_queue", "gpu_queue", "cpu_queue", "result_queue"]
SILENCE = 60  # seconds without a message, after which it gives up


def printed(properties, body):
    kept = {k: v for k, v in vars(properties).items() if isinstance(v, (str, int))}
    print(json.dumps({"body": body.decode(), **kept}), flush=True)


def take(channel, queue, n):
    channel.basic_qos(prefetch_count=1)
    for method, properties, body in channel.consume(queue, inactivity_timeout=SILENCE):
        if method is None:
            sys.exit(f"{n} more messages of {queue} have not come within {SILENCE} s")
        yield method, properties, body
        channel.basic_ack(method.delivery_tag)
        n -= 1
        if n == 0:
            return


def submit(channel, body, **properties):
    channel.basic_publish("", "job_queue", body, pika.BasicProperties(delivery_mode=2, **properties))


def call(channel):
    answers = channel.queue_declare("", exclusive=True).method.queue
    submit(channel, sys.stdin.readline().strip(), reply_to=answers, correlation_id="42", content_type="application/json")
    for _, properties, body in take(channel, answers, 1):
        printed(properties, body)


def work(channel, queue, n):
    for _, properties, body in take(channel, queue, n):
        job = json.loads(body)
        result = {"job_id": job["job_id"], "status": "completed", "worker_id": "pika-1", "worker_type": "cpu", "execution_time": 0.01, "result": "of pika"}
        channel.basic_publish("", "result_queue", json.dumps(result), pika.BasicProperties(delivery_mode=2))
        printed(properties, body)


def main(url, verb, queue="", n="0"):
    connection = pika.BlockingConnection(pika.URLParameters(url))
    channel = connection.channel()
    channel.confirm_delivery()
    for name in QUEUES:
        channel.queue_declare(name, durable=True)
    if verb == "submit":
        for line in sys.stdin:
            submit(channel, line.strip())
    elif verb == "send":
        for line in sys.stdin:
            message = json.loads(line)
            channel.basic_publish("", "job_queue", message.pop("body"), pika.BasicProperties(**message))
    elif verb == "results":
        for _, properties, body in take(channel, queue, int(n)):
            printed(properties, body)
    elif verb == "call":
        call(channel)
    elif verb == "worker":
        work(channel, queue, int(n))
    connection.close()


main(*sys.argv[1:])
