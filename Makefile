# Every target works from a fresh clone with python3 (3.11 or newer) and make: it builds .venv when missing.
PYTHON ?= python3
BIN := .venv/bin
INSTALL := $(BIN)/python -m pip install --quiet --disable-pip-version-check

.PHONY: check test test-jit test-numba test-spark fuzz test-blas soak coverage golden house dist smoke smoke-sdist sbom signatures lint format docs bench race clean

# Three tiers: tests/helpers/tiers.py says which tests are slow, fuzzers or statistical, and how long those are.
# Tests run against a wheel, unpacked in build/tested, whose kernels are compiled, for this processor alone, and Numba
# cannot be imported. test-blas takes the wheel of make dist, unpacked in build/wheel, which has the kernels for others,
# too. .venv itself has an editable install, where Numba compiles kernels at first use: check, which is for those who
# edit them, and test-jit run against that one.
PYTEST := $(BIN)/pytest -q -n auto --dist worksteal
WITHOUT_NUMBA := $(CURDIR)/tests/helpers/without_numba
TESTED := PYTHONPATH=$(CURDIR)/build/tested
WHEEL := PYTHONPATH=$(CURDIR)/build/wheel:$(WITHOUT_NUMBA)
EVERYTHING := --ignore-glob="*/kernels/jit.py" --pyargs massart tests README.md docs

check: .venv/.peers
	MASSART_TIER=check $(PYTEST) -m "not slow and not wheel"

test: .venv/.peers build/tested
	$(TESTED):$(WITHOUT_NUMBA) MASSART_TIER=test $(PYTEST) -m "not fuzz and not jit and not numba" $(EVERYTHING)

test-jit: .venv/.peers
	MASSART_TIER=test $(PYTEST) -m "not fuzz and not wheel"

# What needs Numba, and model files: a part of test-jit.
# Processes of theirs compile every kernel again, which takes minutes where others compute as well.
test-numba: .venv/.peers
	MASSART_TIER=test MASSART_TEST_SECONDS=1800 $(PYTEST) -m "(numba or jit) and not fuzz" tests
	$(PYTEST) tests/golden

# The fuzzers with 20,000 inputs of each kind.
FUZZ_TESTS := $(sort $(wildcard tests/*/test_*fuzz*.py tests/laws/test_01_*.py))

fuzz: .venv/.peers build/tested
	$(TESTED) MASSART_TIER=test $(PYTEST) -m fuzz $(FUZZ_TESTS)

# The recipe for Spark of docs/scale.md, which needs Java 17 and brings pyspark.
test-spark: .venv/.peers
	$(INSTALL) "pyspark>=4"
	$(BIN)/pytest -q -n 0 -m spark tests/scale/test_spark.py

# The fuzzers with a million inputs of each kind and all statistical tests at full length, for hours: before a release.
soak: .venv/.peers build/tested
	$(TESTED) MASSART_TIER=soak MASSART_TEST_SECONDS=86400 $(PYTEST) -m "fuzz or soak" tests

coverage: .venv/.peers
	MASSART_TIER=test $(PYTEST) -m "not wheel" --cov --cov-report=term

X86 := $(filter x86_64 amd64,$(shell uname -m))
FLAGS := $(shell grep -m1 '^flags' /proc/cpuinfo 2>/dev/null)
NEW := $(and $(filter avx2,$(FLAGS)),$(filter bmi2,$(FLAGS)),$(filter fma,$(FLAGS)))
LEVEL := $(if $(X86),$(if $(NEW),x86-64-v3,x86-64-v2))

# The wheel, with kernels compiled, and the source distribution. build/kernels keeps compiled kernels for the next time.
SOURCES := pyproject.toml README.md $(shell find src build_kernels -name '*.py' -o -name '*.h' -o -name '*.txt')

dist: dist/.made

dist/.made: $(SOURCES) | .venv/.dev
	rm -rf dist
	$(BIN)/python -m hatchling build -d dist
	@touch $@

# The wheel in empty environments, one for each Python that there is, with README's examples in one of them.
smoke: dist/.made
	$(BIN)/python tests/helpers/smoke.py dist/massart-*.whl

# A wheel made from the source distribution, with kernels compiled before: the same bytes as that of the source tree.
smoke-sdist: dist/.made
	rm -rf build/from-sdist
	mkdir -p build/from-sdist/build
	tar -xzf dist/massart-*.tar.gz -C build/from-sdist --strip-components 1
	cp -r build/kernels build/from-sdist/build/kernels
	cd build/from-sdist && $(CURDIR)/$(BIN)/python -m hatchling build -t wheel -d dist
	cmp build/from-sdist/dist/massart-*.whl dist/massart-*.whl

# What an installation of the wheel consists of, as CycloneDX, beside the wheel.
sbom: smoke
	$(BIN)/python -m cyclonedx_py environment --output-reproducible --short-PURLs --pyproject pyproject.toml \
		--mc-type library --output-file dist/massart.cdx.json \
		build/smoke/$$($(BIN)/python -c 'import sys; print("%d.%d" % sys.version_info[:2])')/bin/python

build/wheel: dist/.made
	rm -rf $@
	$(INSTALL) --no-deps --target $@ dist/massart-*.whl
	@touch $@

build/tested: $(SOURCES) | .venv/.dev
	rm -rf $@ build/tested-dist
	MASSART_LEVELS=$(LEVEL) $(BIN)/python -m hatchling build -t wheel -d build/tested-dist
	$(INSTALL) --no-deps --target $@ build/tested-dist/massart-*.whl
	@touch $@

# The list of kernels' signatures, made again from what commands and tests call.
signatures: .venv/.peers
	$(BIN)/python build_kernels/record.py

# The files of tests/golden and the generated pages of docs, made again from the present code.
golden: .venv/.peers
	$(BIN)/pytest -q -n 0 tests/golden tests/test_site.py -k "golden or generated_pages" --update-golden

house: .venv/.dev
	$(BIN)/python tests/helpers/house.py

# The documentation, in build/site (with --quiet, warnings would not be counted by --strict); with Zensical, its successor, too, where that can be installed, in build/zensical.
docs: .venv/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict
	@if $(INSTALL) --only-binary :all: zensical; then \
		sed 's|^site_dir: .*|site_dir: build/zensical|' mkdocs.yml > .zensical.yml && \
		$(BIN)/python -m zensical build --clean --strict -f .zensical.yml; \
	else echo "Zensical has no wheel for this platform: going on without it"; fi

# What touches BLAS or kernels, as if on other processors: on one that can only what all of its kind can, and on one
# with AVX and more threads than cores. The names of OpenBLAS and of the C library's features are those of x86-64.
BLAS_TESTS := tests/evaluation/test_estimators.py tests/evaluation/test_intervals.py \
	tests/evaluation/test_off_policy.py tests/evaluation/test_reward_model.py \
	tests/kernels/test_halfspace_kernels.py tests/kernels/test_mixture_kernels.py tests/kernels/test_pool_kernels.py \
	tests/kernels/test_ranking_kernels.py tests/kernels/test_coordinate_search.py tests/kernels/test_rows.py \
	tests/learners/test_fit.py tests/learners/test_pool.py tests/learners/test_bandit.py \
	tests/learners/test_scales.py tests/worlds/test_world_data.py \
	tests/worlds/test_reward_data.py
OLD := OPENBLAS_CORETYPE=Prescott GLIBC_TUNABLES=glibc.cpu.hwcaps=-AVX,-AVX2,-FMA,-FMA4
AVX := $(if $(X86),$(shell grep -qwm1 avx /proc/cpuinfo 2>/dev/null && echo yes))

test-blas: .venv/.peers build/wheel
	$(WHEEL) $(if $(X86),MASSART_LEVEL=x86-64-v2 $(OLD)) OPENBLAS_NUM_THREADS=1 \
		$(BIN)/pytest -n auto -q -m "not jit and not numba" tests/golden tests/laws/test_08_same_bytes.py $(BLAS_TESTS)
	$(WHEEL) OPENBLAS_NUM_THREADS=4 $(if $(AVX),OPENBLAS_CORETYPE=Sandybridge) \
		$(BIN)/pytest -n auto -q -m "not jit" $(BLAS_TESTS)

lint: .venv/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: .venv/.peers
	$(BIN)/python benchmarks/throughput.py --json results/throughput.json
	$(BIN)/python benchmarks/throughput.py --threads free --only csr dense pool-csr pool-dense \
		--json results/throughput_free.json
	$(BIN)/python benchmarks/bandit_speed.py --json results/bandit_speed.json
	$(BIN)/python benchmarks/startup.py --json results/startup.json
	$(BIN)/python benchmarks/files.py --json results/files.json

race: .venv/.peers
	@mkdir -p results
	$(BIN)/massart race sacrificed-minority hunted-minority --learner default,peers --peer-seeds 2 \
		--jobs -1 --report results/race.html --figure results/race.png --rows results/race.jsonl

.venv/bin/python:
	@$(PYTHON) -c 'import sys; sys.exit("massart needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.12 $(MAKECMDGOALS)") if sys.version_info < (3, 11) else None'
	$(PYTHON) -m venv .venv

.venv/.dev: pyproject.toml | .venv/bin/python
	$(INSTALL) --editable ".[dev]"
	@touch $@

# Peers come where their wheels exist; without them the comparisons say so and go on.
.venv/.peers: pyproject.toml .venv/.dev
	@for peer in vowpalwabbit river mabwiser; do \
		$(INSTALL) --only-binary :all: $$peer || echo "$$peer has no wheel for this platform: going on without it"; \
	done
	@touch $@

clean:
	rm -rf .venv build dist results .pytest_cache .mypy_cache .ruff_cache .coverage
