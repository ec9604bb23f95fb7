# make run      build, and find out what stalls on this machine
# make test     build, and run every test
# make test-fast  those tests that need no machine to themselves, within two minutes
# make fuzz     gives every parser of outside bytes inputs that a fuzzer makes up; FUZZ_S=60 seconds for each,
#               FUZZ=record one alone
# make torture  kills tailback at random moments of its scenarios, and looks for what is left; as root
# make blind    plays stalls and harmless loads that tailback watch has to tell apart, and writes the matrix into
#               docs/watch.md; as root, on a quiet machine. RUNS=150, SEED=1, ONLY='idle compile'
# make lint     formatting, warnings, documentation, shell scripts
# make bench    measure what tailback itself costs
# make kernels  build two small guest kernels, one with an old bug put back; some minutes, once
# make kernels-hz  the unpatched one at HZ 100 and 1000 too, for the table of known answers
# make truth    run what is missing of the table of known answers, and write docs/truth.md; hours, and
#               it can be stopped and resumed. ONLY='mmap-*,sim-*' picks rows, RUNS=3 their number of runs
# make install  PREFIX=/usr/local
# make erlang   the Erlang application alone, for use in an Erlang shell
# make deb      a Debian package, in $(BUILD)
# make dist     a tarball for any Linux of this architecture, in $(BUILD), with its SHA-256
# make bare     does what README says on a Debian 12 that has gcc, make and Rust alone; as root
# make picture  takes README's picture anew, of RECORD
# make golden   write the golden files and the schema again; read the diff

SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: run build test test-fast fuzz torture blind lint bench install deb dist bare picture erlang kernels kernels-hz truth golden \
  needs erlang-needs lint-needs clean

PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo
# A rustup installation is not on the PATH of every shell.
export PATH := $(PATH):$(HOME)/.cargo/bin

TARGET := $(shell PATH="$(PATH)" rustc -vV | sed -n 's/^host: //p')
BUILD := $(or $(CARGO_TARGET_DIR),target)
BINARY := $(BUILD)/$(TARGET)/release/tailback
VERSION := $(shell sed -n 's/^version = "\(.*\)"/\1/p' Cargo.toml | head -1)
# Linked statically, so that one file runs on any Linux and inside a bare guest.
STATIC := RUSTFLAGS="-C target-feature=+crt-static"

# `check` ends with 1 where a stall was found: that is an answer, not a failure of make.
run: build
	@scripts/need erlang-base erlang-crypto erlang-dev
	@$(BINARY) check || { code=$$?; [ $$code -eq 1 ] || exit $$code; }

build: needs
	$(STATIC) $(CARGO) build --release --locked --target $(TARGET) -p tailback

# libbpf-sys asks for pkg-config, cargo fetches over https.
needs:
	@scripts/need gcc libc6-dev clang libelf-dev zlib1g-dev pkg-config ca-certificates

# strace delays a system call in one of the tests, chromium opens the pages, some boot a guest; gcc and
# make are there already.
test: needs erlang-needs
	@scripts/need strace chromium fonts-dejavu-core qemu-system-x86
	$(MAKE) -C erlang all eunit ct
	TAILBACK_SKIP_NOTHING=1 $(CARGO) test --locked --workspace --no-fail-fast

# Everything that needs no machine to itself: unit tests, simulations, golden files, kept inputs of the fuzzer.
test-fast: needs
	$(CARGO) test --locked --workspace --no-fail-fast --lib \
	  $(foreach test,arrows golden schema v1 same_words manual shown corpus effects fixing judging \
	    simulation properties published two_arms versions,--test $(test))

# FUZZ_S: seconds for each target; FUZZ: one target alone.
fuzz: needs
	@scripts/need g++
	scripts/fuzz $(or $(FUZZ_S),60) $(FUZZ)

# KILLS: how many; SEED: which, where a run is to be made again.
torture: build erlang-needs
	scripts/torture $(abspath $(BINARY)) $(or $(KILLS),100) $(SEED)

blind: build
	@scripts/need jq postgresql redis-server redis-tools stress-ng gcc
	WRITE=1 scripts/blind $(abspath $(BINARY)) $(or $(RUNS),150) $(or $(SEED),1) $(ONLY)

lint: lint-needs
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	$(CARGO) clippy --locked -p tailback --no-default-features --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps
	$(MAKE) -C erlang dialyzer xref
	shellcheck scripts/* vm/build-kernels .ci/run erlang/c_src/build-nif

lint-needs: needs erlang-needs
	@scripts/need shellcheck

erlang:
	@scripts/need erlang-base erlang-crypto erlang-dev gcc make
	$(MAKE) -C erlang all

# The tests start real nodes, and build the application in both of its ways.
erlang-needs:
	@scripts/need make erlang-base erlang-crypto erlang-dev erlang-tools erlang-eunit \
	  erlang-runtime-tools erlang-common-test erlang-dialyzer rebar3

bench: needs build
	$(CARGO) bench --locked -p tailback-load --bench operation
	$(CARGO) bench --locked -p tailback-sim --bench bandwidth
	@scripts/bench-start $(BINARY)
	$(CARGO) build --release --locked -p tailback-probe --example hold
	@scripts/bench-probes $(BUILD)/release/examples/hold

kernels:
	@vm/build-kernels

kernels-hz:
	@vm/build-kernels --hz

# TRUTH holds other flags, as TRUTH=--list.
truth: build erlang-needs
	@scripts/need qemu-system-x86
	$(CARGO) build --release --locked -p tailback-truth
	$(BUILD)/release/truth --binary $(BINARY) --folder $(BUILD)/truth --write docs/truth.md \
	  $(if $(ONLY),--only '$(ONLY)') $(if $(RUNS),--runs $(RUNS)) $(TRUTH)

install: build
	install -Dm755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/tailback
	$(BINARY) man $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	  $(DESTDIR)$(PREFIX)/share/zsh/site-functions \
	  $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(BINARY) completions bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tailback
	$(BINARY) completions zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_tailback
	$(BINARY) completions fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/tailback.fish

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
	$(MAKE) install DESTDIR=$(abspath $(BUILD))/dist PREFIX=/$(DIST)
	@mkdir -p $(BUILD)/dist/$(DIST)/share/doc/tailback
	scripts/licences $(TARGET) > $(BUILD)/dist/$(DIST)/share/doc/tailback/THIRD-PARTY.txt
	scripts/dist $(BUILD)/dist/$(DIST) $(BUILD)

# 1 is `affected`: an answer.
BARE ?= make run install && { tailback run mmap-lock || [ $$? -eq 1 ]; }
bare:
	scripts/bare '$(BARE)'

RECORD ?= crates/cli/tests/golden/example.record.json
picture: build
	scripts/screenshot $(BINARY) $(RECORD) docs/example.png

golden: needs
	SNAPSHOTS=overwrite TAILBACK_GOLDEN=write $(CARGO) test --locked --workspace

clean:
	$(CARGO) clean
	$(MAKE) -C erlang clean
