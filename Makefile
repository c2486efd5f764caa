# Headrace. `make` alone lists what there is.
.DEFAULT_GOAL := help
.PHONY: dead-letters redrive discard parked retry-budget faults help setup run demo up token status logs kill reset test lint format validate unit reference reference-examples model contract e2e load bench-localstage bench-publish bench-rate-limit bench-persist bench-clicks bench-history bench-live bench-analytics bench-powertools bench-emulators invoke diagrams lock clean
SHELL := /bin/sh
PY := .venv/bin/python
STAGE := $(PY) -m localstage
LOG ?=
MESSAGES ?=
STREAM ?=
RIDES ?=
SECONDS ?=
OPS := PYTHONPATH=layers/headrace $(PY) -m ops
REPLAY_ARGS = $(if $(LOG),--log '$(LOG)') $(if $(MESSAGES),--messages $(MESSAGES)) $(if $(STREAM),--stream $(STREAM)) $(if $(RIDES),--rides $(RIDES)) $(if $(SECONDS),--seconds $(SECONDS))

help: ## list the targets
	@echo "Headrace: make TARGET [VARIABLE=value]"; echo
	@awk -F ':.*## ' '/^[a-z0-9-]+:.*## / {printf "  %-18s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

setup: ## make .venv from the lock files (every other target does this first)
	@localstage/setup.sh

run: setup ## start the stage, replay a conversation, stay up until Ctrl-C   [MESSAGES=n] [LOG='path/*.log']
	@$(PY) -m loadtest.demo --stay $(REPLAY_ARGS)

demo: setup ## the same, but exit with the checker's verdict                  [MESSAGES=n] [LOG='path/*.log' [NICKS=all]] [STREAM=ski [RIDES=n]] [STREAM=ads [SECONDS=60]]
	@$(PY) -m loadtest.demo $(REPLAY_ARGS)

up: setup ## start the stage alone, with its log lines
	@$(STAGE) up

token: setup ## print a token                                            [USER_ID=alice] [SCOPES='chat:write chat:read']
	@$(STAGE) token --user $(or $(USER_ID),alice) $(foreach scope,$(or $(SCOPES),chat:write chat:read),--scope $(scope))

status: setup ## what runs, where, and how it is
	@$(STAGE) status

logs: setup ## follow one function's log                                 [FUNCTION=ReceiveFrame]
	@$(STAGE) logs $(or $(FUNCTION),ReceiveFrame)

dead-letters: setup ## what is dead and why                                   [ARGS='--reason not_json --bodies']
	@$(OPS) dead-letters $(ARGS)

redrive: setup ## move dead letters back to the retry lane               [ARGS='--stream chat --dry-run']
	@$(OPS) redrive $(ARGS)

discard: setup ## throw dead letters away, once their number is typed     [ARGS='--reason not_json']
	@$(OPS) discard $(ARGS)

parked: setup ## how much is in the parking queue; return it to a lane  [RETURN=main|retry]
	@$(OPS) parked $(if $(RETURN),--return $(RETURN))

retry-budget: setup ## the outage that leaves the dead lane empty            [STAGE_ENV=prod] [FIRST_PAUSE=30]
	@$(OPS) budget $(if $(FIRST_PAUSE),--first-pause $(FIRST_PAUSE)) $(if $(STAGE_ENV),--config-env $(STAGE_ENV))

kill: setup ## kill a service of the stage (-9), start it again later  [SERVICE=RabbitMQ] [SECONDS=20]
	@$(STAGE) kill $(or $(SERVICE),RabbitMQ) --seconds $(or $(SECONDS),20)

reset: setup ## throw away the stage's data (tables, queues, broker); asks first  [YES=1]
	@$(STAGE) reset $(if $(YES),--yes)

test: setup lint unit model contract e2e validate ## everything that must be green: lint, types, unit, contract, e2e, template

lint: setup ## ruff, mypy and the check of the prose
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy && $(PY) -m tools.prose --code

format: setup ## let ruff rewrite what it can
	@.venv/bin/ruff check --fix . ; .venv/bin/ruff format .

unit: setup ## tests without sockets
	@$(PY) -m pytest -q tests/unit

reference: setup ## write the API's contract and its pages to docs/reference
	@PYTHONPATH=layers/headrace $(PY) -m reference

reference-examples: setup ## record the contract's examples from the running stage
	@PYTHONPATH=layers/headrace $(PY) -m reference.recording

model: setup ## everything that may happen to an event, in any order; more than make test does with [EXAMPLES=n]
	@$(if $(EXAMPLES),,echo "model: the same runs every time; for others, and more: make model EXAMPLES=5000")
	@MODEL_EXAMPLES='$(EXAMPLES)' $(PY) -m pytest -q tests/model

contract: setup ## one suite per seam, in memory and against the real thing
	@$(PY) -m pytest -q tests/contract

e2e: setup ## the local stage whole, with a real broker, and a selection of fault scenarios
	@$(PY) -m pytest -q tests/e2e
	@$(PY) -m pytest -q tests/faults

validate: .local/sam/bin/sam ## sam validate --lint, of the template and of the nested one
	@export AWS_DEFAULT_REGION=us-east-1 SAM_CLI_TELEMETRY=0; \
	for template in template.yaml templates/*.yaml; do $< validate --lint --template $$template || exit 1; done

.local/sam/bin/sam: requirements/sam.txt | setup
	@echo "headrace: setting up the SAM CLI (once)" >&2
	@.venv/bin/uv venv --quiet --clear .local/sam && VIRTUAL_ENV=$(CURDIR)/.local/sam .venv/bin/uv pip install --quiet --require-hashes -r $< && touch $@

invoke: .local/sam/bin/sam ## one function in a container, by the SAM CLI   [FUNCTION=ReceiveFrame] [EVENT=events/receive_frame.ping.json]
	@export AWS_DEFAULT_REGION=us-east-1 SAM_CLI_TELEMETRY=0; $< build --config-env local >/dev/null && \
	$< local invoke $(or $(FUNCTION),ReceiveFrame) -e $(or $(EVENT),events/receive_frame.ping.json) --config-env local $(SAM_FLAGS)

load: setup ## Locust: 50,000 messages in frames of 25, then single frames; both checked   [MESSAGES=n]
	@$(PY) -m loadtest.load $(if $(MESSAGES),--messages $(MESSAGES))

faults: setup ## fault scenarios on a separate stage, a table at the end           [SCENARIO=broker-killed]
	@$(PY) -m faults $(SCENARIO)

soak: setup ## random faults under load, from a printed seed                      [SECONDS=600] [SEED=n]
	@$(PY) -m faults.soak --seconds $(or $(SECONDS),600) $(if $(SEED),--seed $(SEED))

bench-localstage: setup ## an echo function here and under `sam local start-api`
	@$(PY) -m bench.echo

bench-publish: setup ## the receiving handler beside a bare publish-and-confirm
	@$(PY) -m bench.publish

bench-rate-limit: setup ## what the rate limit of a sender costs, and how exact it is
	@$(PY) -m bench.rate_limit

bench-persist: setup ## the writing side beside boto3's batch_writer(), also with 8 ms in front
	@$(PY) -m bench.persist

bench-clicks: setup ## bytes of an ad click on the broker, and what counting it once costs
	@$(PY) -m bench.clicks

bench-history: setup ## pages of a small and of a large room beside the bare DynamoDB Query
	@$(PY) -m bench.history

bench-live: setup ## 100 subscribers in a room, 50 messages/s; push latency, CPU per post     [SECONDS=60]
	@$(PY) -m bench.live $(if $(SECONDS),--seconds $(SECONDS))

bench-analytics: setup ## analytics cold, warm and a minute later, beside the straight scatter-gather   [SIZES=200000,1000000] [DAY=1000000]
	@$(PY) -m bench.analytics $(if $(SIZES),--sizes $(SIZES)) $(if $(DAY),--day $(DAY))

bench-powertools: setup ## import time and cost per call of Powertools' utilities, beside our own code
	@$(PY) -m bench.powertools

bench-emulators: setup ## which DynamoDB and SQS emulators, and why
	@$(PY) -m bench.emulators

diagrams: setup ## draw docs/diagrams/*.svg from docs/diagrams/draw.py
	@$(PY) docs/diagrams/draw.py

lock: setup ## refresh the lock files from the *.in files
	@for in in layers/dependencies/requirements requirements/runtime requirements/dev requirements/sam requirements/uv requirements/ministack; do \
	  .venv/bin/uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
	    --python-version 3.11 $$in.in -o $$in.txt || exit 1; done

clean: ## remove what can be made again (.venv, .local, caches)
	@rm -rf .venv .local .aws-sam .mypy_cache .ruff_cache .pytest_cache .hypothesis
