"""Celery as the bench has it.

    celery_peer.py client KIND FLIGHT WARM SECONDS     keeps so many tasks in flight, and prints their times in seconds as JSON, those of the warm-up left out
    celery -A celery_peer worker                       runs them; BENCH_KIND is KIND

KIND is "fast", Celery's defaults but for a larger prefetch: tasks are acknowledged before they run, nothing is confirmed, results are transient; or "safe",
what ours does always: acknowledged when the result is sent, publishes confirmed, results persistent. CELERY_BROKER is the server's address.
"""

import json
import os
import sys
import time

from celery import Celery

kind = sys.argv[2] if sys.argv[1:2] == ["client"] else os.environ["BENCH_KIND"]
safe = kind == "safe"
app = Celery("celery_peer", broker=os.environ["CELERY_BROKER"], backend="rpc://")
app.conf.update(
    task_serializer="json", result_serializer="json", accept_content=["json"], task_ignore_result=False,
    worker_prefetch_multiplier=64, worker_disable_rate_limits=True, worker_send_task_events=False, task_send_sent_event=False,
    task_acks_late=safe, result_persistent=safe, broker_transport_options={"confirm_publish": safe}, worker_hijack_root_logger=False,
)


@app.task(name="nothing")
def nothing():
    return None


def client(flight, warm, seconds):
    consumer, took, open_results = app.backend.result_consumer, [], {}
    begin = float("inf")

    def send():
        at = time.perf_counter()
        result = nothing.delay()
        open_results[result.id] = result
        result.then(lambda r: done(r, at))

    def done(result, at):
        now = time.perf_counter()
        del open_results[result.id]
        if now - begin > warm:
            took.append(now - at)
        if now - begin < warm + seconds:
            send()

    nothing.delay().get()  # connections are open from here
    for _ in range(flight):
        send()
    begin = time.perf_counter()
    while time.perf_counter() - begin < warm + seconds:
        consumer.drain_events(timeout=30)
    print(json.dumps({"took": took, "seconds": time.perf_counter() - begin - warm}))


if __name__ == "__main__":
    client(int(sys.argv[3]), float(sys.argv[4]), float(sys.argv[5]))
    os._exit(0)  # what is in flight is nobody's
