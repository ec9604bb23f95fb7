# make run      build, and find out what stalls on this machine
# make build    the binary of make run: compiled quickly, without Parquet
# make release  the binary of packages: compiled to be small and fast, with everything
# make test     build, and run every test: those that measure alone, all others beside each other
# make test-fast  those tests that need no machine to themselves, within two minutes
# make fuzz     gives every parser of outside bytes inputs that a fuzzer makes up; FUZZ_S=60 seconds
#               for each, FUZZ='record qmp' those alone
# make torture  kills tailback and what it starts, at random moments and in its n-th system call,
#               fills its disks, lets its calls fail, and looks for what is left; as root. KILLS=100
#               at random moments, SEED=1, JOBS=2 at once; TORTURE holds other flags, as
#               TORTURE="--case '{..}'"; scripts/torture-guest does it in a guest
# make blind    runs stalls and harmless loads that tailback watch has to tell apart, and writes the
#               matrix into docs/watch.md; as root, on a quiet machine, half an hour, and it can be
#               stopped and resumed. RUNS=120, SEED=1, ONLY='idle compile'
# make advice   does what tailback watch advises about the stalls of make blind, looks whether it
#               helps, and writes the table into docs/watch.md; as make blind. RUNS=1, SEED=1
# make oracle   holds tailback watch against another reader of the kernel's counters, beside every
#               stressor of stress-ng; as root, on a quiet machine, two hours, and it can be stopped
#               and resumed. SEED=1, ONLY='cpu vm'
# make contest  holds the alerts that people use against the loads of make blind, beside tailback
#               watch, and writes docs/contest.md; as make blind. RUNS=126, SEED=1
# make alerting  has Debian's Prometheus scrape tailback watch, and the alerts of deploy/prometheus
#               fire and end for a Redis behind a quota; as root, three minutes
# make unit-guest  installs the package in a guest with systemd, and tries its unit; as root, ten
#               minutes
# make soak     lets that unit run for hours in a guest beside what a busy host does to it, and
#               writes docs/soak.svg; as root. HOURS=4
# make sizes    measures what tailback watch costs in guests with many CPUs, threads and groups; as
#               root, a quarter of an hour
# make dose     makes stalls of 0.5 to 2 times the limit of each finding of tailback watch, and
#               writes which of them it finds into docs/watch.md and docs/dose.svg; as root, on a
#               quiet machine, an hour, and it can be stopped and resumed. RUNS=5 for each dose,
#               SEED=1, ONLY='cpu-quota neighbour'
# make reproducers  runs what `tailback export --format reproducer` writes, here, in guests and on
#               other OTPs, beside what tailback says there, and writes the table into
#               docs/kernel-developers.md; as root, on a quiet machine, three hours, and it can be
#               stopped and resumed. RUNS=20, ONLY='cpu-quota', PLACES='host debian:6.1'
# make cases    runs the incidents of docs/cases and writes their pages; as root, on a quiet machine
# make sanitize   the crates with unsafe code under Miri and AddressSanitizer; wants a nightly Rust
# make engines  tries deploy/ (Ansible, Slurm, manifests of Kubernetes, units of systemd) on hosts
#               that it makes; as root, on a quiet machine. ENGINES='lint slurm' tries those alone
# make lint     formatting, warnings, documentation and its examples, shell scripts, commits,
#               licences and sources of the crates
# make bench    measure what tailback itself costs
# make kernels  build two small guest kernels, one with an old bug put back; some minutes, once
# make kernels-hz  the unpatched one at HZ 100 and 1000 too, for the table of known answers
# make kernels-slice  one of Linux 7.3 with the time-slice extension of rseq
# make kernels-tree TREE=/path/to/linux  the kernel of that tree, same options, as built:tree
# make truth    run what is missing of the table of known answers, and write docs/truth.md; hours,
#               and it can be stopped and resumed. ONLY='mmap-*,sim-*' picks rows, RUNS=3 their
#               number of runs
# make install  PREFIX=/usr/local
# make erlang   the Erlang application alone, for use in an Erlang shell
# make deb      a Debian package, in $(BUILD)
# make dist     a tarball for any Linux of this architecture, in $(BUILD), with its SHA-256
# make bare     does what README says on a Debian 12 that has gcc, make and Rust alone; as root
# make picture  takes README's picture anew, of RECORD
# make golden   write the golden files and the schema again; read the diff

SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: run build release test test-erlang test-guests test-endings test-pure test-beside \
  test-alone test-fast engines fuzz torture blind advice oracle contest dose alerting unit-guest soak \
  sizes reproducers cases sanitize lint bench install deb dist bare picture erlang kernels \
  kernels-hz kernels-slice kernels-tree truth golden needs erlang-needs lint-needs clean

PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo
# A rustup installation is not on the PATH of every shell.
export PATH := $(PATH):$(HOME)/.cargo/bin

TARGET := $(shell PATH="$(PATH)" rustc -vV 2>/dev/null | sed -n 's/^host: //p')
BUILD := $(or $(CARGO_TARGET_DIR),target)
QUICK := $(BUILD)/$(TARGET)/quick/tailback
BINARY := $(BUILD)/$(TARGET)/release/tailback
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
# Linked statically, so that one file runs on any Linux and inside a bare guest.
STATIC := RUSTFLAGS="-C target-feature=+crt-static"

# `check` ends with 1 where a stall was found: that is an answer, not a failure of make.
run: build
	@scripts/need erlang-base erlang-crypto erlang-dev
	@$(QUICK) check || { code=$$?; [ $$code -eq 1 ] || exit $$code; }

build: needs
	$(STATIC) $(CARGO) build --profile quick --locked --target $(TARGET) -p tailback \
	  --no-default-features --features bpf

release: needs
	$(STATIC) $(CARGO) build --release --locked --target $(TARGET) -p tailback

# libbpf-sys asks for pkg-config, cargo fetches over https.
needs:
	@command -v $(CARGO) >/dev/null || { \
	  echo "cargo is not on the PATH: install Rust 1.95 (https://rustup.rs), and run make again" >&2; exit 1; }
	@scripts/need gcc libc6-dev clang libelf-dev zlib1g-dev pkg-config ca-certificates

# Files of tests, by what they need. FAST: pure, or run against fakes. GUESTS: boot one. BESIDE: run
# the binary, but want no verdict of this machine and look for nothing that another run could leave.
# Whatever is on no list has the machine to itself: a new file is safe there.
FAST_TESTS := arrows briefs corpus effects fixing fleets forged_journal golden hostile judging \
  english kernels licences mail manual measured properties published pure resuming same_words schema \
  sentences shown simulated_rows simulation study study_files two_arms older \
  undecided unsafe_code v1
GUEST_TESTS := guest hostile_kernel
ENDING_TESTS := bad_days blocking_nif_bad_days endings mailbox_flood_bad_days privileges
BESIDE_TESTS := alerts ansible bad_input census check compare_runs compat debian explain hostile_records \
  ktap other_readers page probe_calls real studies
ALONE_TESTS := $(filter-out $(FAST_TESTS) $(GUEST_TESTS) $(ENDING_TESTS) $(BESIDE_TESTS),$(sort \
  $(basename $(notdir $(wildcard crates/*/tests/*.rs))) \
  $(notdir $(patsubst %/main.rs,%,$(wildcard crates/*/tests/*/main.rs)))))
RUST_TESTS := $(CARGO) test --locked --workspace --no-fail-fast
# Without the flags of the make that runs the lanes: what a test compiles would look for its job
# server.
RUST_TESTS_ALL := MAKEFLAGS= TAILBACK_SKIP_NOTHING=1 $(RUST_TESTS)

# strace delays a system call in one of the tests, chromium opens the pages, some boot a guest,
# which Debian's later releases show a folder by a package of its own; gcc and make are there
# already. A reader of Parquet wants the names of time zones. What a lane prints comes when it has
# ended, in one piece. What failed is told once more at the end.
test: needs erlang-needs
	@scripts/need mount strace chromium fonts-dejavu-core qemu-system-x86 python3-venv tzdata
	@[ -e /usr/lib/qemu/virtiofsd ] || scripts/need virtiofsd
	$(MAKE) -C erlang all
	$(RUST_TESTS) --no-run
	@mkdir -p $(BUILD); set -o pipefail; code=0; \
	{ $(MAKE) -k -j5 --output-sync=target test-guests test-endings test-beside test-erlang \
	    test-pure || code=$$?; \
	  $(MAKE) test-alone || code=$$?; exit $$code; } 2>&1 | tee $(BUILD)/test.log || \
	{ scripts/failed $(BUILD)/test.log; exit 1; }

# Without this make's flags: rebar3 calls one of its own.
test-erlang:
	MAKEFLAGS= $(MAKE) -k -C erlang eunit ct

test-guests:
	$(RUST_TESTS_ALL) $(GUEST_TESTS:%=--test %)

test-pure:
	$(RUST_TESTS_ALL) --lib --bins $(FAST_TESTS:%=--test %)

# These wait most of their time, for what was killed or takes too long.
test-endings:
	$(RUST_TESTS_ALL) $(ENDING_TESTS:%=--test %)

test-beside:
	$(RUST_TESTS_ALL) $(BESIDE_TESTS:%=--test %)

test-alone:
	$(RUST_TESTS_ALL) $(ALONE_TESTS:%=--test %)

test-fast: needs
	$(RUST_TESTS) --lib $(FAST_TESTS:%=--test %)

# FUZZ_S: seconds for each target; FUZZ: those targets alone.
fuzz: needs
	@scripts/need g++
	scripts/fuzz $(or $(FUZZ_S),60) $(FUZZ)

# Lint of what is in deploy/ is part of it: its programs are those of the test.
engines: release
	deploy/test/engines $(BINARY) $(ENGINES)

# Guests are killed too where `make kernels` has built one.
KERNELS := $(wildcard $(HOME)/.cache/tailback/kernels/built)
torture: release erlang-needs
	@scripts/need strace qemu-system-x86
	$(CARGO) build --release --locked -p tailback-torture
	$(BUILD)/release/torture --binary $(BINARY) --moments $(or $(KILLS),100) --seed $(or $(SEED),1) \
	  --jobs $(or $(JOBS),2) $(if $(KERNELS),--kernels $(KERNELS)) --log $(BUILD)/torture.jsonl $(TORTURE)

# What has unsafe code under Miri and AddressSanitizer; wants a nightly toolchain, which nothing
# else does.
sanitize: needs
	scripts/sanitize

alerting: release
	scripts/alerting $(BINARY)

unit-guest: deb
	scripts/unit-guest $(BUILD)/tailback_$(VERSION)_*.deb

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

dose: release
	@scripts/need gcc nodejs erlang-base erlang-dev
	DOSE=$(BUILD)/dose-$(or $(SEED),1) WRITE=1 scripts/dose $(abspath $(BINARY)) $(or $(RUNS),5) \
	  $(or $(SEED),1) $(ONLY)

reproducers: release
	@scripts/need gcc libc6-dev qemu-system-x86 cpio erlang-base erlang-dev
	REPRODUCERS=$(BUILD)/reproducers WRITE=1 ONLY='$(ONLY)' scripts/reproducers $(abspath $(BINARY)) \
	  $(or $(RUNS),20) $(PLACES)

# They say which packages they want, and install nothing.
cases: release
	scripts/case-exporter $(abspath $(BINARY)) docs/cases/exporter.md
	scripts/case-postgres $(abspath $(BINARY)) docs/cases/postgres.md
	scripts/case-preempted-postgres $(abspath $(BINARY)) docs/cases/preempted-postgres.md
	scripts/case-rabbitmq $(abspath $(BINARY)) docs/cases/rabbitmq.md

lint: lint-needs
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked -p tailback --no-default-features --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps
	$(CARGO) test --locked --workspace --doc
	$(MAKE) -C erlang dialyzer xref
	shellcheck $$(grep -d skip -lE '^#!.*sh$$' scripts/*) vm/build-kernels .ci/run erlang/c_src/build-nif deploy/slurm/* \
	  deploy/kubernetes/census deploy/test/engines deploy/kselftest/tailback.sh \
	  deploy/test-definitions/automated/linux/tailback/tailback.sh
	scripts/columns
	scripts/commits
	scripts/deny

lint-needs: needs erlang-needs
	@scripts/need shellcheck

erlang:
	@scripts/need erlang-base erlang-crypto erlang-dev gcc make
	$(MAKE) -C erlang all

# The tests start real nodes, and build the application in both of its ways.
erlang-needs:
	@scripts/need make erlang-base erlang-crypto erlang-dev erlang-tools erlang-eunit \
	  erlang-runtime-tools erlang-common-test erlang-dialyzer rebar3

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

# TRUTH holds other flags, as TRUTH=--list.
truth: release erlang-needs
	@scripts/need qemu-system-x86
	$(CARGO) build --release --locked -p tailback-truth
	$(BUILD)/release/truth --binary $(BINARY) --folder $(BUILD)/truth --write docs/truth.md \
	  --table truth/table.md $(if $(ONLY),--only '$(ONLY)') $(if $(RUNS),--runs $(RUNS)) $(TRUTH)

install: release
	install -Dm755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/tailback
	$(BINARY) generate man $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	  $(DESTDIR)$(PREFIX)/share/zsh/site-functions \
	  $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(BINARY) generate completions bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tailback
	$(BINARY) generate completions zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_tailback
	$(BINARY) generate completions fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/tailback.fish
	install -d $(DESTDIR)$(PREFIX)/lib/systemd/system
	sed 's|/usr/bin/|$(or $(INSTALLED),$(PREFIX))/bin/|' deploy/systemd/tailback-watch.service \
	  > $(DESTDIR)$(PREFIX)/lib/systemd/system/tailback-watch.service
	install -Dm644 -t $(DESTDIR)$(PREFIX)/lib/tmpfiles.d deploy/systemd/tmpfiles.d/tailback-watch.conf
	install -Dm644 -t $(DESTDIR)$(PREFIX)/share/tailback/prometheus \
	  deploy/prometheus/tailback.rules.yml deploy/prometheus/alertmanager.inhibit.yml \
	  deploy/prometheus/scrape.hosts.yml deploy/prometheus/scrape.pods.yml
	install -Dm644 -t $(DESTDIR)$(PREFIX)/share/tailback/grafana deploy/grafana/tailback-watch.json

# Staged again each time, so that nothing of an older version gets in.
deb:
	rm -rf $(BUILD)/deb
	$(MAKE) install DESTDIR=$(abspath $(BUILD))/deb PREFIX=/usr
	mv $(BUILD)/deb/usr/share/zsh/site-functions $(BUILD)/deb/usr/share/zsh/vendor-completions
	@mkdir -p $(BUILD)/deb/usr/share/doc/tailback
	scripts/licences $(TARGET) > $(BUILD)/deb/usr/share/doc/tailback/THIRD-PARTY.txt
	scripts/deb $(BUILD)/deb $(VERSION) $(BUILD)

# The folder in the tarball is a prefix: bin and share fit into /usr/local, or anywhere else.
DIST := tailback-$(VERSION)-$(firstword $(subst -, ,$(TARGET)))-linux
dist:
	rm -rf $(BUILD)/dist
	$(MAKE) install DESTDIR=$(abspath $(BUILD))/dist PREFIX=/$(DIST) INSTALLED=/usr/local
	@mkdir -p $(BUILD)/dist/$(DIST)/share/doc/tailback
	scripts/licences $(TARGET) > $(BUILD)/dist/$(DIST)/share/doc/tailback/THIRD-PARTY.txt
	scripts/dist $(BUILD)/dist/$(DIST) $(BUILD)

# 1 is `affected`: an answer.
BARE ?= make run install && { tailback run mmap-lock || [ $$? -eq 1 ]; }
bare:
	scripts/bare '$(BARE)'

RECORD ?= crates/cli/tests/golden/example.record.json.gz
picture: release
	scripts/screenshot $(BINARY) $(RECORD) docs/example.png

golden: needs
	SNAPSHOTS=overwrite TAILBACK_GOLDEN=write $(CARGO) test --locked --workspace

clean:
	$(CARGO) clean
	$(MAKE) -C erlang clean
