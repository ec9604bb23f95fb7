# make run      build, and find out what stalls on this machine
# make test     build, and run every test
# make lint     formatting, warnings, documentation, shell scripts
# make bench    measure what tailback itself costs
# make kernels  build two small guest kernels, one with an old bug put back; some minutes, once
# make install  PREFIX=/usr/local
# make golden   write the golden files and the schema anew, to be read in the diff

SHELL := /bin/bash
.DELETE_ON_ERROR:
.PHONY: run build test lint bench install kernels golden needs lint-needs clean

PREFIX ?= /usr/local
DESTDIR ?=
CARGO ?= cargo
# A rustup installation is not on the PATH of every shell.
export PATH := $(PATH):$(HOME)/.cargo/bin

TARGET := $(shell PATH="$(PATH)" rustc -vV | sed -n 's/^host: //p')
BUILD := $(or $(CARGO_TARGET_DIR),target)
BINARY := $(BUILD)/$(TARGET)/release/tailback
# Linked statically, so that one file runs on any Linux and inside a bare guest.
STATIC := RUSTFLAGS="-C target-feature=+crt-static"

# `check` ends with 1 where a stall was found: that is an answer, not a failure of make.
run: build
	@$(BINARY) check || { code=$$?; [ $$code -eq 1 ] || exit $$code; }

build: needs
	$(STATIC) $(CARGO) build --release --locked --target $(TARGET) -p tailback

needs:
	@scripts/need gcc libc6-dev

# strace delays a system call in one of the tests; some boot a guest. gcc and make are there
# already.
test: needs
	@scripts/need strace qemu-system-x86
	$(CARGO) test --locked --workspace

lint: lint-needs
	$(CARGO) fmt --all --check
	$(CARGO) clippy --locked --workspace --all-targets -- -D warnings
	RUSTDOCFLAGS="-D warnings" $(CARGO) doc --locked --workspace --no-deps
	shellcheck scripts/* vm/build-kernels .ci/run

lint-needs: needs
	@scripts/need shellcheck

bench: needs build
	$(CARGO) bench --locked -p tailback-load --bench operation
	$(CARGO) bench --locked -p tailback-sim --bench bandwidth
	@scripts/bench-start $(BINARY)

kernels:
	@vm/build-kernels

install: build
	install -Dm755 $(BINARY) $(DESTDIR)$(PREFIX)/bin/tailback
	$(BINARY) man $(DESTDIR)$(PREFIX)/share/man/man1
	install -d $(DESTDIR)$(PREFIX)/share/bash-completion/completions \
	  $(DESTDIR)$(PREFIX)/share/zsh/site-functions \
	  $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d
	$(BINARY) completions bash > $(DESTDIR)$(PREFIX)/share/bash-completion/completions/tailback
	$(BINARY) completions zsh > $(DESTDIR)$(PREFIX)/share/zsh/site-functions/_tailback
	$(BINARY) completions fish > $(DESTDIR)$(PREFIX)/share/fish/vendor_completions.d/tailback.fish

golden: needs
	SNAPSHOTS=overwrite TAILBACK_GOLDEN=write $(CARGO) test --locked --workspace

clean:
	$(CARGO) clean
