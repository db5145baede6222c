# Interlock. `make serve` and `make test` are all a newcomer needs; both set up everything by themselves.
SHELL := /bin/sh
PYTHON ?= python3
UV := .tools/uv/bin/uv
BIN := .venv/bin
UV_ENV := UV_PYTHON_DOWNLOADS=never VIRTUAL_ENV=.venv
# The tests start hundreds of processes; without what Python keeps of its compiled sources each compiles everything anew.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help serve test coverage torture check format bench soak learn docs lock clean

help:
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1	\2/p' $(MAKEFILE_LIST)

serve: .venv/.run ## set up and start Interlock
	$(BIN)/interlock serve

# Four parts beside each other, because most of the time is spent waiting for processes that the tests start, and the check
# beside them, which keeps one core busy for a minute (`make check` alone says it sooner). That every
# line of the core is reached by its own tests is shown each time; of the rest, which costs as much again, by `make
# coverage`. The tests that draw their examples run apart from those that are counted: to count makes them take twice as
# long, and a line that only chance reaches should have an example of its own.
CORE := tests/core tests/config/test_roster.py
LAB := $(wildcard tests/behaviours/test_lab_*.py)
WHOLE := tests/behaviours
TORTURE := tests/torture
BROWSER := tests/browser
VERBS := tests/cli tests/clients tests/lab
# Of whole gateways on PostgreSQL those that tell most in less than a minute; `make torture` has them all.
SAMPLE := $(patsubst %,tests/behaviours/test_%.py,exactly_once restart)
APART := $(WHOLE) tests/conformance $(TORTURE) $(BROWSER)
test: .venv/.dev node_modules/.done .tools/.browser ## set up, check and test everything
	@$(BIN)/coverage erase
	@sh -c 'HYPOTHESIS_PROFILE=test; export HYPOTHESIS_PROFILE; \
	make --no-print-directory check > .tools/check.log 2>&1 & check=$$!; \
	$(BIN)/python -m pytest $(WHOLE) $(LAB:%=--ignore=%) > .tools/whole.log 2>&1 & whole=$$!; \
	{ $(BIN)/python -m pytest $(VERBS) $(LAB) tests/conformance; verbs=$$?; \
		INTERLOCK_TEST_STORE=postgres $(BIN)/python -m pytest $(SAMPLE); sample=$$?; \
		exit $$((verbs || sample)); } > .tools/verbs.log 2>&1 & verbs=$$!; \
	{ $(BIN)/python -m pytest $(BROWSER); browser=$$?; \
		$(BIN)/python -m pytest $(TORTURE); torture=$$?; \
		exit $$((browser || torture)); } > .tools/beside.log 2>&1 & beside=$$!; \
	trap "kill $$check $$whole $$verbs $$beside 2> /dev/null" INT TERM; \
	$(BIN)/python -m pytest tests $(CORE:%=--ignore=%) $(APART:%=--ignore=%) $(VERBS:%=--ignore=%); parts=$$?; \
	$(BIN)/python -m pytest $(CORE) -m hypothesis; drawn=$$?; \
	$(BIN)/coverage run --source=interlock.core -m pytest $(CORE) -m "not hypothesis" \
		&& $(BIN)/coverage report --fail-under=100; core=$$?; \
	wait $$check; check=$$?; wait $$whole; whole=$$?; wait $$verbs; verbs=$$?; wait $$beside; beside=$$?; \
	cat .tools/check.log .tools/whole.log .tools/verbs.log .tools/beside.log; \
	exit $$((check || parts || drawn || core || whole || verbs || beside))'

coverage: .venv/.dev node_modules/.done ## how much of the code the tests of its modules reach
	HYPOTHESIS_PROFILE=test $(BIN)/coverage run -m pytest tests $(APART:%=--ignore=%)
	@$(BIN)/coverage report --fail-under=95

# First on SQLite, and then what touches a store on PostgreSQL; what is in tests/store runs on both each time. A fleet has no
# store, and its tests count the processes of the run, among which there would be a server.
STORED := $(WHOLE) tests/conformance $(filter-out %/test_fleet.py,$(wildcard $(TORTURE)/test_*.py)) $(BROWSER) $(VERBS) tests/app tests/approve tests/receive tests/web \
	tests/config/test_roster.py tests/forward/test_drift.py tests/test_pipeline.py tests/test_record.py \
	tests/test_second_key.py
COUNTS := HYPOTHESIS_PROFILE=torture INTERLOCK_TEST_TURNS=200 INTERLOCK_TEST_KILLS=200 INTERLOCK_TEST_QUESTIONS=1000 \
	INTERLOCK_TEST_HOSTILE=1 INTERLOCK_TEST_FUZZ=100000 INTERLOCK_TEST_APPROVALS=10000
torture: .venv/.dev node_modules/.done .tools/.browser ## the full counts, on both stores; takes hours
	@$(COUNTS) $(BIN)/python -m pytest; sqlite=$$?; \
	$(COUNTS) INTERLOCK_TEST_STORE=postgres $(BIN)/python -m pytest $(STORED); exit $$((sqlite || $$?))

check: .venv/.dev node_modules/.done ## lint, types, imports
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	node_modules/.bin/pyright
	$(BIN)/lint-imports --no-cache > .tools/imports.log || { cat .tools/imports.log; exit 1; }
	@tail -n 2 .tools/imports.log

format: .venv/.dev ## put the code into shape
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

# One after the other, whatever the one before found; in the end stands what was missed. QUICK=--quick is a short run.
QUICK ?=
BENCHES := start lexicon decide search store verify link_http "lane $(QUICK)" holds dashboard \
	"scale $(QUICK)" "replicas $(QUICK)" "peers $(QUICK)"
bench: .venv/.dev .tools/.browser .tools/peers/.done ## run the measurements; each prints ratios of one run
	@rm -f .tools/bench.log
	@for each in $(BENCHES); do set -- $$each; script=bench/$$1.py; shift; \
		{ PYTHONPATH=. $(BIN)/python $$script "$$@" || echo "  MISSED: $$script ended with $$?"; } 2>&1 \
			| tee -a .tools/bench.log; done
	@! grep MISSED .tools/bench.log

soak: .venv/.dev ## five minutes of work, and whether files, threads and memory stay as they are
	$(BIN)/python bench/soak.py

HONEST ?=
learn: .venv/.dev .tools/learn/.done ## learn anew what poison sounds like; HONEST="lists/*.json" adds lists of real servers
	PYTHONPATH=src:.:$$($(BIN)/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))') \
		.tools/learn/bin/python training/poison.py $(HONEST)

# What a page loads must come with it; links that a reader may follow can lead anywhere.
ELSEWHERE := <(script|img|iframe|source)[^>]* src="?(https?:)?//|<link[^>]* href="?(https?:)?//|@import|url\("?https?:
docs: .venv/.dev .tools/docs/.done ## write the reference anew and build the site into .tools/site
	$(BIN)/python docs/reference.py
	@# The variable silences what its makers say about their next product.
	NO_MKDOCS_2_WARNING=1 .tools/docs/bin/mkdocs build --quiet --strict --site-dir .tools/site
	@! grep -rEn '$(ELSEWHERE)' .tools/site --include='*.html' --include='*.css'

LOCK := $(UV_ENV) $(UV) pip compile -q --generate-hashes --universal --python-version 3.11 --no-emit-index-url \
	--custom-compile-command 'make lock'
lock: $(UV) ## pin the dependencies anew
	$(LOCK) pyproject.toml --extra otel -o requirements.lock
	$(LOCK) pyproject.toml --extra otel --group dev -c requirements.lock -o requirements-dev.lock
	$(LOCK) --group build -o requirements-build.lock
	$(LOCK) --group docs -o requirements-docs.lock
	$(LOCK) --group learn -o requirements-learn.lock
	for peer in $(PEERS); do $(LOCK) bench/peers/$$peer.in -o bench/peers/$$peer.lock || exit 1; done
	cd bench/peers && npm install --package-lock-only --omit-lockfile-registry-resolved --no-audit --no-fund

clean: ## remove everything that make set up
	rm -rf .venv .tools node_modules .hypothesis .coverage .ruff_cache

# Set-up. The build tools come from pinned wheels into a private folder; nothing outside this folder is touched.
$(UV): requirements-build.lock
	$(PYTHON) -m pip install -q --require-hashes --upgrade --target .tools/uv -r requirements-build.lock
	@touch $(UV)

INSTALL = $(UV_ENV) $(UV) pip install -q --no-deps --build-constraints requirements-build.lock -e .
.venv/.run: $(UV) requirements.lock pyproject.toml
	@test -x $(BIN)/python || $(UV_ENV) $(UV) venv -q --python $(PYTHON) .venv
	$(UV_ENV) $(UV) pip install -q --require-hashes -r requirements.lock
	$(INSTALL)
	@touch $@

.venv/.dev: $(UV) requirements-dev.lock pyproject.toml
	@test -x $(BIN)/python || $(UV_ENV) $(UV) venv -q --python $(PYTHON) .venv
	$(UV_ENV) $(UV) pip sync -q --require-hashes requirements-dev.lock
	$(INSTALL)
	@touch $@ .venv/.run

# Apart from .venv: nothing that Interlock runs with or is tested with depends on what builds the pages.
.tools/docs/.done: $(UV) requirements-docs.lock
	@test -x .tools/docs/bin/python || $(UV_ENV) $(UV) venv -q --python $(PYTHON) .tools/docs
	VIRTUAL_ENV=.tools/docs $(UV) pip sync -q --require-hashes requirements-docs.lock
	@touch $@

.tools/learn/.done: $(UV) requirements-learn.lock
	@test -x .tools/learn/bin/python || $(UV_ENV) $(UV) venv -q --python $(PYTHON) .tools/learn
	VIRTUAL_ENV=.tools/learn $(UV) pip sync -q --require-hashes requirements-learn.lock
	@touch $@

# What the measurements compare Interlock with: each in a place of its own, and none where anything of ours would find it.
PEERS := fastmcp mcp-proxy contextforge
.tools/peers/.done: $(PEERS:%=.tools/peers/%/.done) .tools/peers/npm/.done
	@touch $@

.tools/peers/npm/.done: bench/peers/package-lock.json
	@echo "installing the peers from npm"
	@mkdir -p .tools/peers/npm
	@cp bench/peers/package.json bench/peers/package-lock.json .tools/peers/npm
	cd .tools/peers/npm && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error
	@touch $@

.tools/peers/%/.done: bench/peers/%.lock $(UV)
	@echo "installing the peer $*"
	@test -x .tools/peers/$*/bin/python || $(UV_ENV) $(UV) venv -q --python $(PYTHON) .tools/peers/$*
	VIRTUAL_ENV=.tools/peers/$* $(UV) pip sync --require-hashes bench/peers/$*.lock
	@touch $@

# The dashboard is tested in Debian's chromium, which needs the rights of root to install.
.tools/.browser:
	@command -v chromium > /dev/null || command -v chromium-browser > /dev/null || { \
		root=$$(test "$$(id -u)" = 0 || echo sudo); get="$$root apt-get -qq -y --no-install-recommends install chromium"; \
		$$get > /dev/null || { $$root apt-get -qq update && $$get > /dev/null; }; }
	@mkdir -p .tools && touch $@

node_modules/.done: package-lock.json
	npm ci --no-audit --no-fund --loglevel=error
	@touch $@
