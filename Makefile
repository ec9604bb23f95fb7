# make run      build, and find out what stalls on this machine
# make build    the binary of make run: quick to compile, without Parquet
# make release  the binary for packages: small and fast, with all features
# make arm64    the same binary for arm64, cross-built on this machine; TARGET names the target of
#               other builds: make build TARGET=aarch64-unknown-linux-gnu
# make arm64-guest  run a quick build of it in emulated arm64 guests: list, check, watch and vm; as
#               root, half an hour
# make test     build, and run all tests: those that measure run alone, the others in parallel
# make test-fast  the tests that do not need the machine to themselves; at most two minutes
# make fuzz     feed generated inputs to every parser of external data, FUZZ_S=60 seconds for each;
#               FUZZ='record qmp' picks parsers
# make torture  kill tailback and its child processes at random moments and in their n-th system
#               call, fill its disks, make its system calls fail, and look for leftovers; as root.
#               KILLS=100 random moments, SEED=1, JOBS=2 runs in parallel. TORTURE passes other
#               flags, such as TORTURE="--case '{..}'". scripts/torture-guest runs it in a guest
# make blind    run stalls and harmless loads that tailback watch has to tell apart, and write the
#               matrix into docs/watch.md; as root, on a quiet machine, half an hour; can be stopped
#               and resumed. RUNS=120, SEED=1, ONLY='idle compile'
# make advice   apply the advice of tailback watch to the stalls of make blind, check whether it
#               helps, and write the table into docs/watch.md; same requirements as make blind.
#               RUNS=1, SEED=1
# make oracle   compare tailback watch with an independent reader of the kernel's counters, beside
#               every stressor of stress-ng; as root, on a quiet machine, two hours; can be stopped
#               and resumed. SEED=1, ONLY='cpu vm'
# make contest  compare common alerts with tailback watch under the loads of make blind, and write
#               docs/contest.md; same requirements as make blind. RUNS=126, SEED=1
# make beside-tools  look at three stalls with perf, runqlat, offcputime, rtla and tailback watch,
#               and write docs/tools.md; as root, on a quiet machine, ten minutes. ROUNDS=8
# make alerting  let Debian's Prometheus scrape tailback watch, and check that the alerts of
#               deploy/prometheus fire and end for a Redis with a quota; as root, three minutes
# make unit-guest  install the package in a guest with systemd, and test its unit; as root, ten
#               minutes
# make soak     run that unit for hours in a guest, beside the events of a busy host, and write
#               docs/soak.svg; as root. HOURS=4
# make sizes    measure the cost of tailback watch in guests with many CPUs, threads and groups; as
#               root, a quarter of an hour
# make dose     make stalls of 0.5 to 2 times the limit of each finding of tailback watch, and write
#               into docs/watch.md and docs/dose.svg which of them it finds; as root, on a quiet
#               machine, an hour; can be stopped and resumed. RUNS=5 for each dose, SEED=1,
#               ONLY='cpu-quota neighbour'
# make reproducers  run the output of `tailback export --format reproducer` here, in guests and on
#               other OTPs, compare it with tailback's own answer there, and write the table into
#               docs/kernel-developers.md; as root, on a quiet machine, three hours; can be stopped
#               and resumed. RUNS=20, ONLY='cpu-quota', PLACES='host debian:6.1'
# make bisections  bisect git trees whose commits are the two kernels of make kernels, and count
#               how many end at the right commit; as root, on a quiet machine, an hour and a half;
#               can be stopped and resumed. RUNS=20
# make cases    run the incidents of docs/cases and the tutorial, and write their pages; as root, on
#               a quiet machine
# make sanitize   run the crates with unsafe code under Miri and AddressSanitizer; needs a nightly
#               Rust
# make engines  test deploy/ (Ansible, Slurm, Kubernetes manifests, systemd units) on hosts that it
#               creates; as root, on a quiet machine. ENGINES='lint slurm' picks parts
# make lint     check formatting, warnings, documentation and its examples, shell scripts, commits,
#               and the licences and sources of the crates
# make bench    measure the cost of tailback itself
# make kernels  build two small guest kernels, one with an old bug restored; some minutes, once
# make kernels-hz  also build the unpatched one with HZ 100 and 1000, for the table of known answers
# make kernels-slice  build one from Linux 7.3 with the time-slice extension of rseq
# make kernels-tree TREE=/path/to/linux  build the kernel of that tree with the same options, as
#               built:tree
# make truth    run the missing runs of the table of known answers, and write docs/truth.md; hours;
#               can be stopped and resumed. ONLY='mmap-*,sim-*' picks rows, RUNS=3 sets the number
#               of runs for each of them
# make install  PREFIX=/usr/local
# make erlang   build the Erlang application alone, for use in an Erlang shell
# make erlang-dependency  use it as a dependency of a rebar3 and a mix project; 20 s of CPU time
# make erlang-suites  the same in new roots of Debian's suites, with their own OTP, rebar3 and
#               Elixir; as root, a quarter of an hour. SUITES='trixie sid' picks suites
# make deb      build a Debian package, in $(BUILD), and its source package, in $(BUILD)/debian
# make packages  all that a release consists of, in $(BUILD)/packages: both packages, the sources,
#               a bill of materials and checksums
# make image    build a container image of the binary alone, in $(BUILD)
# make dist     build a tarball for any Linux of this architecture, in $(BUILD), with its SHA-256
# make bare     follow README on a Debian 12 that has only gcc, make and Rust; as root
# make picture  take README's picture again, from RECORD
# make demo     record README's terminal again
# make site     build the site of the documentation in $(BUILD)/site, and check its links; needs no
#               tailback. The tools for it are compiled once, in some minutes
# make site-check  open each page of the site in a browser, at two widths. PICTURES=FOLDER keeps
#               pictures of some
# make golden   write the golden files and the schema again; read the diff
SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: run build release test test-erlang test-dependency test-guests test-bad-days \
  test-endings test-pure test-beside test-alone test-fast engines fuzz torture blind advice \
  oracle contest beside-tools dose alerting \
  unit-guest soak sizes bisections reproducers cases sanitize lint bench install deb dist \
  packages image bare picture demo erlang kernels kernels-hz kernels-slice kernels-tree truth \
  golden needs erlang-needs lint-needs clean arm64 arm64-guest site site-check \
  erlang-dependency erlang-suites dependency-needs

PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo
# A rustup installation is not on the PATH of every shell.
export PATH := $(PATH):$(HOME)/.cargo/bin

HOST := $(shell PATH="$(PATH)" rustc -vV 2>/dev/null | sed -n 's/^host: //p')
TARGET := $(HOST)
BUILD := $(or $(CARGO_TARGET_DIR),target)
# Where cargo keeps the sources of the crates.
CRATES := $(or $(CARGO_HOME),$(HOME)/.cargo)
# Recipes remove folders below BUILD, and flags below name all three. A path with a blank would be
# taken for two.
one_word = $(if $(filter-out 1,$(words $2)),$(error $1="$2": make cannot use a path with blanks; use \
  another folder))
$(call one_word,CARGO_TARGET_DIR,$(BUILD))
$(call one_word,CARGO_HOME,$(CRATES))
$(call one_word,CURDIR,$(CURDIR))
QUICK := $(BUILD)/$(TARGET)/quick/tailback
BINARY := $(BUILD)/$(TARGET)/release/tailback
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
# Linked statically, so that one file runs on any Linux and in a guest with nothing else. The paths
# of this machine stay out of it, so that the same sources and tools give the same bytes anywhere.
# Of the prefixes that fit, rustc and gcc take the last.
NAMES := $(abspath $(BUILD))=/tailback/target $(CURDIR)=/tailback $(CRATES)=/cargo
STATIC := RUSTFLAGS="-C target-feature=+crt-static $(NAMES:%=--remap-path-prefix=%)" \
  CFLAGS="$(CFLAGS) $(NAMES:%=-ffile-prefix-map=%)"
# `needs` fills this folder where libelf cannot be linked alone. It then comes first.
LIBELF := $(abspath $(BUILD))/libelf
export LIBBPF_SYS_LIBRARY_PATH = $(shell [ ! -e $(LIBELF)/libelf.a ] || printf '%s:' $(LIBELF); \
  sed -n 's/^LIBBPF_SYS_LIBRARY_PATH = "\(.*\)"/\1/p' .cargo/config.toml)
CROSS := $(if $(filter-out $(HOST),$(TARGET)),scripts/cross $(TARGET) $(BUILD))
ARM64 := aarch64-unknown-linux-gnu

# `check` ends with 1 if a stall was found. That is a result, not a failure of make.
run: build
	@scripts/need erlang-base erlang-crypto erlang-dev
	@$(QUICK) check || { code=$$?; [ $$code -eq 1 ] || exit $$code; }

build: needs
	$(STATIC) $(CROSS) $(CARGO) build --profile quick --locked --target $(TARGET) -p tailback \
	  --no-default-features --features bpf

release: needs
	$(STATIC) $(CROSS) $(CARGO) build --release --locked --target $(TARGET) -p tailback

arm64:
	$(MAKE) release TARGET=$(ARM64)

arm64-guest: build
	@scripts/need qemu-system-arm
	$(MAKE) build TARGET=$(ARM64)
	scripts/arm64-guest $(QUICK) $(BUILD)/$(ARM64)/quick/tailback

# libbpf-sys needs pkg-config. cargo downloads over https.
needs:
	@command -v $(CARGO) >/dev/null || { \
	  echo "cargo is not on the PATH: install Rust 1.95 (https://rustup.rs), and run make again" >&2; exit 1; }
	@scripts/need gcc libc6-dev clang libelf-dev zlib1g-dev pkg-config ca-certificates
	@scripts/static-libelf $(LIBELF)

# Test files by what they need. FAST: pure, or run against fakes. GUEST: boot a guest. ENDING: see
# test-endings. BAD_DAYS: like ENDING, but it waits so long that it has a lane of its own. BESIDE:
# run the binary, but need no verdict about this machine and do not look for leftovers, which
# another run could produce. A test file on no list has the machine to itself, so a new file is
# safe.
FAST_TESTS := arrows briefs corpus effects fixing fleets forged_journal golden hostile judging \
  english kernels licences mail manual measured properties published pure resuming same_words schema \
  sentences shown simulated_rows simulation study study_files two_arms older \
  undecided unsafe_code v1
GUEST_TESTS := guest hostile_kernel
BAD_DAYS_TESTS := bad_days
ENDING_TESTS := bad_machines blocking_nif_bad_days endings mailbox_flood_bad_days nodes_asked \
  privileges watch_attacked
BESIDE_TESTS := alerts ansible bad_input census check compare_runs compat debian exit_for_bisect \
  explain hostile_records ktap node_evidence other_readers page probe_calls real studies
ALONE_TESTS := $(filter-out $(FAST_TESTS) $(GUEST_TESTS) $(BAD_DAYS_TESTS) $(ENDING_TESTS) \
  $(BESIDE_TESTS),$(sort $(basename $(notdir $(wildcard crates/*/tests/*.rs))) \
  $(notdir $(patsubst %/main.rs,%,$(wildcard crates/*/tests/*/main.rs)))))
RUST_TESTS := $(CARGO) test --locked --workspace --no-fail-fast
# Without the flags of the make that runs the lanes: programs that a test compiles would look for
# that make's job server.
RUST_TESTS_ALL := MAKEFLAGS= TAILBACK_SKIP_NOTHING=1 $(RUST_TESTS)

# strace delays a system call in one of the tests, and chromium opens the pages. Some tests boot a
# guest that sees a folder of this machine. Later releases of Debian have virtiofsd for that in its
# own package. Guests make file systems with this machine's mkfs.ext4. gcc and make are already
# installed. A Parquet reader needs the names of time zones. Linux' KTAP parser is in an archive of
# xz. The output of a lane appears in one piece when the lane has ended. Failures are listed again
# at the end. Six lanes run at a time:
# test-endings begins when one of the others has ended, usually test-dependency, which is the
# shortest. test-dependency copies erlang/ with tar while test-erlang runs rebar3 there. tar fails
# if a folder changes while tar reads it. So _build, the only entry that rebar3 makes there, is made
# before.
test: needs dependency-needs
	@scripts/need mount strace chromium fonts-dejavu-core qemu-system-x86 python3-venv tzdata \
	  e2fsprogs xz-utils
	@[ -e /usr/lib/qemu/virtiofsd ] || scripts/need virtiofsd
	$(MAKE) -C erlang all
	$(RUST_TESTS) --no-run
	@mkdir -p $(BUILD) erlang/tailback/_build; set -o pipefail; code=0; \
	{ $(MAKE) -k -j6 --output-sync=target test-guests test-beside test-pure test-erlang \
	    test-bad-days test-dependency test-endings || code=$$?; \
	  $(MAKE) test-alone || code=$$?; exit $$code; } 2>&1 | tee $(BUILD)/test.log || \
	{ scripts/failed $(BUILD)/test.log; exit 1; }

# Without this make's flags, so that eunit and ct take turns.
test-erlang:
	MAKEFLAGS= $(MAKE) -k -C erlang eunit ct

test-dependency:
	scripts/erlang-dependency

# The longest lane, since its guests are emulated. So it has a higher priority, which needs root.
test-guests:
	MAKEFLAGS= TAILBACK_SKIP_NOTHING=1 nice -n -5 $(RUST_TESTS) $(GUEST_TESTS:%=--test %)

test-pure:
	$(RUST_TESTS_ALL) --lib --bins $(FAST_TESTS:%=--test %)

test-bad-days:
	$(RUST_TESTS_ALL) $(BAD_DAYS_TESTS:%=--test %)

# These tests mostly wait, for killed processes, for timeouts and for the seconds of a watch.
test-endings:
	$(RUST_TESTS_ALL) $(ENDING_TESTS:%=--test %)

test-beside:
	$(RUST_TESTS_ALL) $(BESIDE_TESTS:%=--test %)

test-alone:
	$(RUST_TESTS_ALL) $(ALONE_TESTS:%=--test %)

test-fast: needs
	$(RUST_TESTS) --lib $(FAST_TESTS:%=--test %)

# FUZZ_S: seconds for each target. FUZZ: the targets to run.
fuzz: needs
	@scripts/need g++
	scripts/fuzz $(or $(FUZZ_S),60) $(FUZZ)

# Includes the lint of deploy/, because the same script installs the checkers.
engines: release
	deploy/test/engines $(BINARY) $(ENGINES)

# Also kills guests if `make kernels` has built a kernel.
KERNELS := $(wildcard $(HOME)/.cache/tailback/kernels/built)
torture: release erlang-needs
	@scripts/need strace qemu-system-x86
	$(CARGO) build --release --locked -p tailback-torture
	$(BUILD)/release/torture --binary $(BINARY) --moments $(or $(KILLS),100) --seed $(or $(SEED),1) \
	  --jobs $(or $(JOBS),2) $(if $(KERNELS),--kernels $(KERNELS)) --log $(BUILD)/torture.jsonl $(TORTURE)

# Runs the crates with unsafe code under Miri and AddressSanitizer. This is the only target that
# needs a nightly toolchain.
sanitize: needs
	scripts/sanitize

alerting: release
	scripts/alerting $(BINARY)

# The package by its whole name: those of other builds may lie beside it.
unit-guest: deb
	scripts/unit-guest "$(BUILD)/tailback_$$(dpkg-parsechangelog -S Version)_$$(dpkg \
	  --print-architecture).deb"

soak: release
	WRITE=1 scripts/soak $(BINARY) $(or $(HOURS),4)

sizes: release
	WRITE=1 scripts/watch-sizes $(BINARY)

blind: release
	@scripts/need jq postgresql redis-server redis-tools stress-ng gcc nodejs nginx-light \
	  apache2-utils
	BLIND=$(BUILD)/blind-$(or $(SEED),1) WRITE=1 scripts/blind $(abspath $(BINARY)) \
	  $(or $(RUNS),120) $(or $(SEED),1) $(ONLY)

advice: release
	@scripts/need jq postgresql stress-ng gcc nodejs nginx-light apache2-utils
	ADVICE=$(BUILD)/advice-$(or $(SEED),1) WRITE=1 scripts/advice $(abspath $(BINARY)) \
	  $(or $(RUNS),1) $(or $(SEED),1) $(ONLY)

oracle: release
	ORACLE=$(BUILD)/oracle-$(or $(SEED),1) WRITE=1 ONLY='$(ONLY)' scripts/oracle $(abspath $(BINARY)) \
	  $(or $(SEED),1)

contest: release
	@scripts/need jq postgresql redis-server redis-tools stress-ng gcc nodejs nginx-light \
	  apache2-utils bpftrace
	CONTEST=$(BUILD)/contest-$(or $(SEED),1) WRITE=1 scripts/contest $(abspath $(BINARY)) \
	  $(or $(RUNS),126) $(or $(SEED),1) $(ONLY)

beside-tools: release
	@scripts/need jq gcc linux-perf libbpf-tools rtla
	$(CARGO) build --release --locked -p tailback-probe --example turns
	TOOLS=$(BUILD)/beside-tools WRITE=1 scripts/beside-tools $(BINARY) $(BUILD)/release/examples/turns \
	  $(or $(ROUNDS),8)

dose: release
	@scripts/need gcc nodejs erlang-base erlang-dev
	DOSE=$(BUILD)/dose-$(or $(SEED),1) WRITE=1 scripts/dose $(abspath $(BINARY)) $(or $(RUNS),5) \
	  $(or $(SEED),1) $(ONLY)

bisections: release kernels
	@scripts/need git qemu-system-x86 cpio
	BISECTIONS=$(BUILD)/bisections scripts/bisections $(abspath $(BINARY)) $(or $(RUNS),20)

reproducers: release
	@scripts/need gcc libc6-dev qemu-system-x86 cpio erlang-base erlang-dev
	REPRODUCERS=$(BUILD)/reproducers WRITE=1 ONLY='$(ONLY)' scripts/reproducers $(abspath $(BINARY)) \
	  $(or $(RUNS),20) $(PLACES)

# The scripts name missing packages, but install nothing.
cases: release
	scripts/case-exporter $(abspath $(BINARY)) docs/cases/exporter.md
	scripts/case-postgres $(abspath $(BINARY)) docs/cases/postgres.md
	scripts/case-preempted-postgres $(abspath $(BINARY)) docs/cases/preempted-postgres.md
	scripts/case-rabbitmq $(abspath $(BINARY)) docs/cases/rabbitmq.md
	scripts/tutorial $(abspath $(BINARY)) docs/tutorial.md

lint: lint-needs
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked -p tailback --no-default-features --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps
	$(CARGO) test --locked --workspace --doc
	$(MAKE) -C erlang dialyzer xref edoc
	shellcheck $$(grep -d skip -lE '^#!.*sh$$' scripts/*) vm/build-kernels .ci/run deploy/slurm/* \
	  erlang/edoc erlang/tailback/c_src/build-nif deploy/kubernetes/census deploy/test/engines deploy/kselftest/tailback.sh \
	  deploy/test-definitions/automated/linux/tailback/tailback.sh debian/tailback.postrm \
	  debian/tailback.prerm debian/tests/verdict
	scripts/columns
	scripts/commits
	scripts/workflows
	scripts/deny

lint-needs: needs erlang-needs
	@scripts/need shellcheck erlang-edoc

erlang:
	@scripts/need erlang-base erlang-crypto erlang-dev gcc make
	$(MAKE) -C erlang all

erlang-dependency: dependency-needs
	scripts/erlang-dependency

erlang-suites:
	@scripts/need mmdebstrap
	scripts/erlang-suites $(or $(SUITES),bookworm trixie forky sid)

# The tests start real nodes, and build the application in both ways.
erlang-needs:
	@scripts/need make erlang-base erlang-crypto erlang-dev erlang-tools erlang-eunit \
	  erlang-runtime-tools erlang-common-test erlang-dialyzer rebar3

dependency-needs: erlang-needs
	@scripts/need gcc git iproute2 elixir

bench: needs release
	$(CARGO) bench --locked -p tailback-load --bench operation
	$(CARGO) bench --locked -p tailback-sim --bench bandwidth
	@scripts/bench-start $(BINARY)
	@scripts/bench-census $(BINARY)
	$(CARGO) build --release --locked -p tailback-probe --example hold
	@scripts/bench-probes $(BUILD)/release/examples/hold
	$(CARGO) build --release --locked -p tailback-probe --example turns
	@scripts/bench-watch $(BINARY) $(BUILD)/release/examples/hold $(BUILD)/release/examples/turns
	@scripts/bench-node $(BINARY)

kernels:
	@vm/build-kernels

kernels-hz:
	@vm/build-kernels --hz

kernels-slice:
	@vm/build-kernels --slice

kernels-tree:
	@vm/build-kernels --tree "$(TREE)"

# TRUTH passes other flags, such as TRUTH=--list.
truth: release erlang-needs
	@scripts/need qemu-system-x86 e2fsprogs
	$(CARGO) build --release --locked -p tailback-truth
	$(BUILD)/release/truth --binary $(BINARY) --folder $(BUILD)/truth --write docs/truth.md \
	  --table truth/table.md $(if $(ONLY),--only '$(ONLY)') $(if $(RUNS),--runs $(RUNS)) $(TRUTH)

# Writes man pages and completions. Another than BINARY if that is for another architecture.
WRITER ?= $(BINARY)

# With umask 022 all users may read what is written. `install` ignores the umask.
install: release
	install -Dm755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/tailback
	umask 022; $(WRITER) generate man $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	  $(DESTDIR)$(PREFIX)/share/zsh/site-functions \
	  $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	umask 022; $(WRITER) generate completions bash \
	  > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tailback
	umask 022; $(WRITER) generate completions zsh \
	  > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_tailback
	umask 022; $(WRITER) generate completions fish \
	  > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/tailback.fish
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	umask 022; sed 's|/usr/bin/|$(or $(INSTALLED),$(PREFIX))/bin/|' \
	  deploy/systemd/tailback-watch.service \
	  > $(DESTDIR)$(PREFIX)/lib/systemd/system/tailback-watch.service
	install -Dm644 -t $(DESTDIR)$(PREFIX)/lib/tmpfiles.d deploy/systemd/tmpfiles.d/tailback-watch.conf
	install -Dm644 -t $(DESTDIR)$(PREFIX)/share/tailback/prometheus \
	  deploy/prometheus/tailback.rules.yml deploy/prometheus/alertmanager.inhibit.yml \
	  deploy/prometheus/scrape.hosts.yml deploy/prometheus/scrape.pods.yml
	install -Dm644 -t $(DESTDIR)$(PREFIX)/share/tailback/grafana deploy/grafana/tailback-watch.json

# The source package of the last commit, and the package that is built from it. Debian's package
# manager does not know a Rust from rustup: the build profile leaves Debian's own out.
deb:
	@scripts/need build-essential clang libelf-dev zlib1g-dev libzstd-dev pkg-config debhelper
	rm -rf $(BUILD)/debian
	scripts/debian-source $(BUILD)/debian
	cd $(BUILD)/debian && dpkg-source --extract tailback_*.dsc tailback && cd tailback && \
	  env -u CARGO_TARGET_DIR -u MAKEFLAGS -u MAKELEVEL dpkg-buildpackage --build=binary --no-sign \
	    --build-profiles=pkg.tailback.rustup
	mv $(BUILD)/debian/tailback_*.deb $(BUILD)/

# The folder in the tarball is a prefix: bin and share fit into /usr/local or any other prefix.
DIST := tailback-$(VERSION)-$(firstword $(subst -, ,$(TARGET)))-linux
dist: release
	rm -rf $(BUILD)/dist
	$(MAKE) -o release install DESTDIR=$(abspath $(BUILD))/dist PREFIX=/$(DIST) INSTALLED=/usr/local
	@mkdir -p $(BUILD)/dist/$(DIST)/share/doc/tailback
	scripts/licences $(TARGET) > $(BUILD)/dist/$(DIST)/share/doc/tailback/THIRD-PARTY.txt
	scripts/dist $(BUILD)/dist/$(DIST) $(BUILD)

# From scratch: the binary and the licences of what is in it.
image: release
	scripts/licences $(TARGET) > $(BUILD)/THIRD-PARTY.txt
	scripts/image $(BINARY) $(BUILD)/THIRD-PARTY.txt $(BUILD)/tailback-$(VERSION).oci.tar

# The tarball has the binary of the Debian package.
packages: deb
	$(MAKE) -o release dist BINARY=$(BUILD)/debian/tailback/target/$(TARGET)/release/tailback
	scripts/packages $(BUILD) $(TARGET)

# Exit code 1 is the verdict `affected`, not an error.
BARE ?= make run install && { tailback run mmap-lock || [ $$? -eq 1 ]; }
bare:
	scripts/bare '$(BARE)'

RECORD ?= crates/cli/tests/golden/example.record.json.gz
picture: release
	scripts/screenshot $(BINARY) $(RECORD) docs/example.png

# The recording of README; as root, on a machine that does little else.
demo: release
	scripts/demo $(BINARY) docs/demo.svg

site:
	@scripts/need gcc libc6-dev ca-certificates erlang-base erlang-edoc
	scripts/site $(BUILD)/site

site-check: site
	@scripts/need chromium fonts-dejavu-core python3
	scripts/site-check $(BUILD)/site $(PICTURES)

golden: needs
	SNAPSHOTS=overwrite TAILBACK_GOLDEN=write $(CARGO) test --locked --workspace

clean:
	$(CARGO) clean
	$(MAKE) -C erlang clean
