# Everything that is built, tested or measured here. "make" alone lists the targets.
#
# Nothing is written outside the checkout but the caches of Go, of pip, and of the engines that compile cells
# (cancha/engines in the user's cache folder).

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DELETE_ON_ERROR:

PYTHON ?= python3
VENV := .venv
LAB := jupyter/lab
JUPYTER := out/jupyter
FUZZTIME ?= 30s
SOAK ?= 5m
MANY ?= 500
STRESS ?= 200
CELLS ?= $(or $(CANCHA_CELLS),kernel/eval/testdata/cells.txt kernel/eval/testdata/programs.txt kernel/eval/testdata/errors.txt)
comma := ,
space := $(subst ,, )

# what Jupyter keeps, kept inside the checkout; kernels that the user has installed stay visible
export JUPYTER_CONFIG_DIR := $(CURDIR)/$(JUPYTER)/config
export JUPYTER_RUNTIME_DIR := $(CURDIR)/$(JUPYTER)/runtime
export JUPYTER_PATH := $(CURDIR)/$(JUPYTER)/share/jupyter$(if $(JUPYTER_PATH),:$(JUPYTER_PATH))
export IPYTHONDIR := $(CURDIR)/$(JUPYTER)/ipython
export CANCHA_HISTORY ?= $(CURDIR)/$(JUPYTER)/history

export PYTHON

.PHONY: help build demo test whole again test-all lab dist dist-test symbols conformance conformance-go integration integration-rabbitmq integration-spark parquet onnx mllib postgres docker kubernetes windows crash clients survive places modules output widgets page soak cells-soak stress fuzz bench bench-kernel bench-stream bench-gpu bench-rooms bench-peers bench-checkpoint bench-forest bench-spark bench-jobs chaos jobs-chaos jobs-local resume nexmark endless faults kernelspec cuda cuda-test ptx

help: ## list the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-15s %s\n", $$1, $$2 }' Makefile

build: ## bin/cancha
	scripts/build.sh

cuda: ## bin/cancha-cuda, with GPUs; needs a C compiler and Python, and no GPU (scripts/cuda-env.sh says what it gets)
	settings=$$(scripts/cuda-env.sh headers); eval "$$settings"; go build -trimpath -tags nvidia -o bin/cancha-cuda ./cmd/cancha

cuda-test: ## the GPU's code on the CPU emulation (g++), and PTX that is what its sources give, assembled for sm_80, sm_86, sm_90
	scripts/cuda-test.sh $(PYTHON)

ptx: ## make kernels.ptx anew of runtime/gpu/cuda/kernels.cu, and the .ptx beside each .cu that another room brings
	scripts/cuda-env.sh > /dev/null
	$(PYTHON) scripts/ptx.py --libraries out/cuda --write

$(VENV)/made: $(LAB)/requirements.txt $(LAB)/constraints.txt jupyter/papermill/pyproject.toml jupyter/papermill/papermill_cancha.py jupyter/papermill/_papermill_cancha.py
	$(PYTHON) -m venv $(VENV)
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r $(LAB)/requirements.txt -c $(LAB)/constraints.txt
	$(VENV)/bin/pip install --quiet --disable-pip-version-check --no-deps ./jupyter/papermill
	touch $@

.PHONY: ready
ready: # the kernel and the Python environment; one compiles while the other is fetched
	+$(MAKE) --no-print-directory -j2 kernelspec $(VENV)/made

kernelspec: build # and the engine that compiles cells
	bin/cancha install -prefix $(JUPYTER)

demo: kernelspec ## train, keep statistics of a stream, score it: notebooks 02, 03, 04 without a browser
	EVENTS=$(EVENTS) scripts/demo.sh

test: ready ## Go tests, the reference suite on the kernel, the notebooks through nbclient; what takes long in short
	scripts/test.sh $(VENV)/bin/python

whole: ready ## parts of "make test" with all that takes long: PARTS="go bench cells sessions conformance jobs notebooks interpreted output"
	scripts/test.sh $(VENV)/bin/python $(PARTS)

again: ready ## "make test" N (20) times beside LOAD (8) busy processes, and what of it failed how often; logs in out/again
	scripts/again.sh $(VENV)/bin/python $(or $(N),20) $(or $(LOAD),8)

test-all: ## "make test", its parts whole, and all that takes long, each with a log in out/test-all: three hours, or PARTS="stress places"
	scripts/test-all.sh all $(PARTS)

lab: ready ## JupyterLab with the notebooks and the kernel of this checkout
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" jupyter lab notebooks

dist: ## archives and Python wheels for linux and macOS, amd64 and arm64, in dist; PLATFORMS="linux/amd64 darwin/arm64"
	rm -rf dist
	go run -trimpath ./jupyter/dist -out dist -platforms "$(PLATFORMS)"

release: ## what a release consists of, in dist: "make dist", lists of what is linked (SBOM), provenance, notes, sums; the same bytes each time; KEY=ssh-key signs the sums
	KEY="$(KEY)" scripts/release.sh $(PLATFORMS)

toolchain: ## the wheel with its extra "toolchain" in a bare Debian that has Python alone: how long until a compiled cell answers (root, debootstrap, PyPI)
	cd scripts && $(PYTHON) toolchain.py

pictures: kernelspec $(VENV)/made ## the pictures that README begins with (playwright, Chromium, and "make demo" before)
	PATH="$(CURDIR)/$(VENV)/bin:$$PATH" $(VENV)/bin/python scripts/pictures.py --pictures docs

release-test: $(VENV)/made ## a release of this platform made twice: the same bytes, found in order by CycloneDX's, in-toto's and OpenSSH's tools
	scripts/release-test.sh $(VENV)/bin/python

lint: ## go vet, staticcheck, and actionlint over the workflows (Go's module proxy)
	scripts/lint.sh

vulnerabilities: ## govulncheck: known faults in what the programs call (https://vuln.go.dev)
	go run golang.org/x/vuln/cmd/govulncheck@v1.9.0 ./...

dist-test: $(VENV)/made ## this platform's packages installed in a fresh environment, JupyterLab beside them; the program compiled for macOS
	scripts/dist-test.sh $(VENV)/bin/python $(or $(FORM),full cross)

symbols: ## regenerate what cells may import; "make symbols ONLY=wing" after a change in the library wing
	go run ./internal/symbols/generate $(if $(ONLY),-only $(ONLY))

conformance: build $(VENV)/made ## the protocol suite, case by case, and archives of cells (CELLS="file …"); KERNEL=python3: the suite on another kernel, RACE=1: on one with the race detector
	RACE=$(RACE) scripts/conformance.sh $(VENV)/bin/python $(KERNEL) $(SAMPLES)
	$(if $(KERNEL),,go run ./kernel/conformance -cells $(subst $(space),$(comma),$(strip $(CELLS))))

conformance-go: build ## Go's own test programs as cells, beside compiled Go; FLAGS="-mode interp -n 60 -seed 7 -run chan/"
	go run ./kernel/conformance $(if $(TREE),-tree $(TREE)) $(FLAGS)

integration: build ## the Kafka tests, "windows" and "crash" on a real Apache Kafka (Java 17, Maven)
	scripts/kafka.sh with go test -count=1 -p 1 ./stream/...
	scripts/kafka.sh with scripts/windows.sh $(FLAGS)
	scripts/kafka.sh with scripts/crash.sh $(FLAGS)

integration-rabbitmq: ## jobs on a real RabbitMQ, and on others that are killed and full; a foreign program, Python's pika, beside them (Debian's rabbitmq-server, which root gets)
	scripts/rabbitmq.sh install
	scripts/rabbitmq.sh with go test -count=1 -parallel 8 ./jobs/rabbitmq
	scripts/rabbitmq.sh with go test -count=1 -run RabbitMQ ./cmd/cancha
	scripts/pika.sh

integration-spark: build ## what reaches Spark, on a Spark 4.0.0 and a Kafka of their own: tests, notebooks, kills, and a cluster that loses a worker (Java 17, Maven, pip); PARTS="server cluster"
	scripts/integration-spark.sh $(PARTS)

parquet: ## pyarrow and DuckDB read what stream/parquet writes
	PYTHON=$(PYTHON) scripts/parquet.sh

onnx: ## onnxruntime answers by our forests, and ours by scikit-learn's, as each does by its own
	PYTHON=$(PYTHON) scripts/onnx.sh

mllib: ## Spark answers by our forests, and spark/mllib by Spark's, as each does by its own (Java 17; PySpark, 0.4 GB)
	PYTHON=$(PYTHON) scripts/mllib.sh

postgres: ## stream/postgres on a PostgreSQL of its own, which is killed meanwhile (Debian's postgresql)
	scripts/postgres.sh with go test -count=1 ./stream/postgres

docker: ## the images and the compose file on a Docker engine, which root on Debian gets, row by row: PARTS="default jobs monitoring upgrade" (ten minutes; 12 GB)
	scripts/docker.sh $(PARTS)

kubernetes: ## the manifests of deploy/kubernetes: decoded strictly by client-go's types, and looked at by kube-score (Go's module proxy)
	scripts/kubernetes.sh

windows: build ## notebook 03 beside a computation in Python; "make windows KAFKA=real" on a real Apache Kafka
	$(if $(KAFKA),scripts/kafka.sh with )scripts/windows.sh $(FLAGS)

crash: build ## notebook 03 while its broker is killed three times, beside an undisturbed run; KAFKA=real as above
	$(if $(KAFKA),scripts/kafka.sh with )scripts/crash.sh $(FLAGS)

clients: kernelspec $(VENV)/made ## nbclient, nbconvert, papermill, jupyter console, two clients at once; JupyterLab where playwright and Chromium are
	$(VENV)/bin/python scripts/clients.py $(NAMES)
	$(VENV)/bin/python -B scripts/lab.py --pictures out/lab || { code=$$?; [ $$code -eq 3 ] && echo "skipped: JupyterLab"; }

survive: kernelspec $(VENV)/made ## what must not end a kernel, strangers on the ports of a kernel and a broker beside a notebook, and hostile jobs for a worker's folder; HOSTILE=60 minutes, JOBS=200
	$(VENV)/bin/python scripts/survive.py
	$(VENV)/bin/python -B scripts/hostile.py --minutes $(or $(HOSTILE),1)
	$(VENV)/bin/python -B scripts/hostile_jobs.py --jobs $(or $(JOBS),200)
	$(VENV)/bin/python -B scripts/hostile.py --minutes $(or $(HOSTILE),1) --encrypted

modules: kernelspec ## import modules of many kinds in sessions of their own, twice each (Go's module proxy); NAMES="gin-gonic/gin"
	$(PYTHON) scripts/modules.py $(NAMES)

places: ## installs and runs where it is hard: no toolchain, no compiler, full and read-only caches, two sessions at once, the Dockerfile's steps in bare roots
	scripts/places.sh
	$(PYTHON) -B scripts/image.py || [ $$? -eq 3 ]

output: kernelspec $(VENV)/made ## cells that print and show a lot, through a Jupyter Server with its default limits; NAMES="burst displays"
	$(VENV)/bin/python scripts/server_limits.py $(NAMES)

widgets: kernelspec $(VENV)/made ## sliders, buttons and bars used in a real JupyterLab (playwright and Chromium: see the script)
	$(VENV)/bin/python scripts/widgets.py --pictures out/widgets

page: kernelspec $(VENV)/made ## the page on :4040 in headless Chromium while notebooks 02 to 06 run (see the script); pictures in out/page
	$(VENV)/bin/python scripts/page.py --pictures out/page notebooks/0[2-6]*.ipynb

fuzz: ## each fuzz test for FUZZTIME (30s)
	scripts/fuzz.sh $(FUZZTIME)

soak: build ## kernels kept busy for SOAK (5m; 30m is the whole: 10,000 cells, 1,000 reconnects); fails where anything goes on growing or a heartbeat is late
	SOAK=$(SOAK) CANCHA_PROGRAM=$(CURDIR)/bin/cancha go test -count=1 -v -timeout 0 -run TestSoak ./kernel/kerneltest

cells-soak: kernelspec ## MANY cells (500) in one session, half of them declarations: what a cell costs in memory, and whether the last are slower
	CELLS_SOAK=$(MANY) CANCHA_PROGRAM=$(CURDIR)/bin/cancha go test -count=1 -v -timeout 0 -run TestManyCells ./kernel/kerneltest

faults: build ## each place of the library that takes a function, with functions of cells that panic, leave their goroutine, loop for ever and exit, interpreted and compiled; tables in out/faults
	mkdir -p out/faults
	CANCHA_FAULTS=1 CANCHA_FAULTS_TABLE=$(CURDIR)/out/faults/interpreted.txt go test -trimpath -count=1 -timeout 0 -v -run 'TestFaults$$' ./kernel/eval
	CANCHA_FAULTS=1 CANCHA_FAULTS_TABLE=$(CURDIR)/out/faults/compiled.txt scripts/compiled.sh go test -count=1 -timeout 0 -v -run 'TestFaults$$'

stress: build ## a kernel hurt STRESS times (200): panics, recursions, kills, interrupts; STRESS_SEED gives another order
	STRESS=$(STRESS) CANCHA_PROGRAM=$(CURDIR)/bin/cancha go test -count=1 -v -timeout 0 -run 'TestStress|TestInterruptsLose' ./kernel/kerneltest

bench: bench-kernel bench-stream bench-gpu bench-rooms ## the four below

bench-kernel: kernelspec $(VENV)/made ## beside ipykernel and deno, and compiled cells beside go build; tables in out/kernel.md, out/cells.md
	$(VENV)/bin/pip install --quiet --disable-pip-version-check -r bench/kernel/requirements.txt
	$(VENV)/bin/python bench/kernel/measure.py --out out/kernel.md
	go build -C bench -o ../out/bench-cells ./cells
	out/bench-cells -out out/cells.md

bench-stream: ## broker, decoder and windows beside a Reader with encoding/json, medians of five
	go test -C bench -run '^$$' -bench . -benchtime 5x -cpu 2 ./stream

bench-checkpoint: ## a query with snapshots beside the same without, in turns
	go build -C bench -o ../out/bench-checkpoint ./checkpoint
	out/bench-checkpoint

chaos: ## KILLS (20) faults for each kind of state and sink, alone and in a group: kill -9 of queries and of the broker, frozen processes, slow and full disks, broken connections, clocks that jump, topics made anew, going back to older snapshots (FLAGS='-faults "kill full"' for some); KAFKA=real on an Apache Kafka, POSTGRES=1 with tables
	go build -C bench -o ../out/chaos ./chaos
	$(if $(KAFKA),scripts/kafka.sh with )$(if $(POSTGRES),scripts/postgres.sh with )out/chaos -kills $(or $(KILLS),20) -events $(or $(EVENTS),1000000) $(FLAGS)

jobs-local: ## the embedded broker: 60 kill -9 of the process that has it, and what takes seconds over each kind of connection (half a minute)
	CANCHA_JOBS_LONG=1 go test -count=1 ./jobs/local

jobs-chaos: ## JOBS (20,000) small jobs and KILLS (50) kill -9 of workers, schedulers and the broker (FLAGS=-rabbitmq below scripts/rabbitmq.sh with: a RabbitMQ): each job ends once, and runs again only where a kill explains it
	go build -C bench -o ../out/jobs-chaos ./jobs/chaos
	out/jobs-chaos -jobs $(or $(JOBS),20000) -kills $(or $(KILLS),50) $(FLAGS)

resume: build ## notebooks 03 and 04 with a checkpoint, their kernels killed with -9, beside undisturbed runs; KAFKA=real as above
	$(if $(KAFKA),scripts/kafka.sh with )scripts/resume.sh $(FLAGS)

bench-peers: ## minutes, Nexmark and latency beside Flink 2.3, Spark 4.0 and DuckDB on one real Kafka (half an hour; 3 GB in out/peers)
	KAFKA_HEAP=1g scripts/kafka.sh with scripts/peers.sh

bench-spark: ## one plan on the local engine and on Spark local[2], over one topic of a real Kafka, in turns (ten minutes; Java 17, Maven, pip); table in out/bench-spark/spark.md
	KAFKA_HEAP=1g scripts/kafka.sh with scripts/bench-spark.sh

bench-jobs: ## jobs that do nothing, embedded and over a RabbitMQ, beside Celery's on it, in turns (ten minutes; Debian's rabbitmq-server, Celery from PyPI); table in out/bench-jobs/jobs.md
	PYTHON=$(PYTHON) scripts/bench-jobs.sh $(FLAGS)

bench-forest: out/forest/python/made ## random forests beside scikit-learn, oneDAL, LightGBM, XGBoost and onnxruntime, five turns (hours; FLAGS="-rows 100k -depths 12 -turns 1": minutes); table in out/forest/forest.md
	go build -C bench -o ../out/bench-forest ./forest
	out/bench-forest -python out/forest/python/bin/python $(FLAGS)

out/forest/python/made: bench/forest/requirements.txt
	$(PYTHON) -m venv out/forest/python
	out/forest/python/bin/pip install --quiet --disable-pip-version-check -r $<
	touch $@

nexmark: ## eleven queries of Nexmark on EVENTS events (2000000): all rows are as DuckDB computes them; times of both
	EVENTS=$(or $(EVENTS),2000000) scripts/nexmark.sh

endless: ## ever new keys pass by the operators of a query at full rate for ENDLESS (20m): resident memory stays within 5 %
	ENDLESS=$(or $(ENDLESS),20m) go test -C bench -count=1 -v -timeout 0 -run TestEndless ./stream

gpu-pack: ## all that a visit of eight minutes to a machine with a GPU takes, in out/gpu-pack (at most 60 MiB); scripts/gpu/visit.sh does it there
	PYTHON=$(PYTHON) scripts/gpu/pack.sh

bench-gpu: ## matrix products beside gonum and OpenBLAS, and the training of a network, on one core (bench/gpu has what a GPU is measured with)
	$(PYTHON) bench/gpu/cpu.py

bench-rooms: ## the benchmarks that stand beside the code
	go test -run '^$$' -bench . -benchmem ./...
