# tare: what does virtualization cost on this machine, and does it isolate?
#
# Everything here works on a fresh Debian 12 with make and git. scripts/setup says
# what else is needed, and installs it. `make help` lists the targets.

SHELL := /bin/sh
.DELETE_ON_ERROR:
.SUFFIXES:
MAKEFLAGS += --no-builtin-rules

# The system's Go if it is new enough, otherwise one of our own, which
# `scripts/setup go` installs.
GO := $(shell ./scripts/find-go)
export GO
export CGO_ENABLED ?= 0
# Nothing of the place of a build gets into what it makes. Tests are built the same way, so that each dependency is
# compiled once.
export GOFLAGS += -trimpath

PREFIX  ?= /usr/local
SUDO    := $(shell [ "$$(id -u)" = 0 ] || echo sudo)
VERSION := $(shell git describe --always --dirty --tags 2>/dev/null || echo unknown)
# The programs that run in guests, which tare embeds.
GUEST   := $(patsubst %,internal/agentbin/embedded/%.gz,tare-agent tare-http tare-redis)
# Nor anything of its time.
BUILD   := $(GO) build -buildvcs=false

.PHONY: build
build: bin/tare ## build bin/tare, and nothing else (the default)

# The go command knows best what a program is made of and does nothing when
# nothing changed, so it is always asked.
.PHONY: FORCE
FORCE:

bin/tare: $(GUEST) FORCE | $(GO)
	@$(BUILD) -ldflags '-s -w -X main.version=$(VERSION)' -o $@ ./cmd/tare

# They run in guests of any kind: static, whatever CGO_ENABLED says.
bin/tare-agent bin/tare-http bin/tare-redis: FORCE | $(GO)
	@CGO_ENABLED=0 $(BUILD) -ldflags '-s -w' -o $@ ./cmd/$(@F)

# A Temporal server to try tare fleet with: a module of its own, of 1750 packages.
bin/tare-fleet-dev: FORCE | $(GO)
	@cd cmd/$(@F) && $(BUILD) -ldflags '-s -w' -o $(CURDIR)/$@ .

internal/agentbin/embedded/%.gz: bin/%
	@gzip -9nc $< >$<.gz && mv $<.gz $@ # as a whole: another go build may read it now

$(GO):
	@./scripts/setup go

.PHONY: quick
quick: ## install what builds tare, build, and measure this machine; YES=1 answers on a machine that works for others
	@./scripts/setup run
	@$(MAKE) --no-print-directory build
	$(SUDO) bin/tare image
	$(SUDO) bin/tare run quick $(if $(YES),--yes)

.PHONY: tare-fleet-dev
tare-fleet-dev: bin/tare-fleet-dev ## build a Temporal server to try tare fleet with, and for its tests (some minutes)

.PHONY: test
test: ## install what is missing and run every test there is (root)
	@./scripts/setup test
	@$(MAKE) --no-print-directory build
	@./scripts/test

.PHONY: check
check: $(GUEST) | $(GO) ## what needs no guest and two minutes at most: run it before a commit
	@./scripts/check

.PHONY: bench
bench: ## what tare itself costs, and in short how precise it is
	@./scripts/setup test
	@$(MAKE) --no-print-directory build
	@./scripts/bench

.PHONY: precision
precision: ## how precise tare is: docs/precision.md, measured on this machine (root; eight hours, or FOR each part)
	@./scripts/setup test
	@$(MAKE) --no-print-directory build
	@FOR=$(FOR) ./scripts/bench precision

.PHONY: soak
soak: build bin/tare-fleet-dev ## bad days: kills, failing calls, full disks, 50 guests of every system (root; two hours, or FOR)
	@./scripts/soak $(FOR)

.PHONY: reproducible
reproducible: | $(GO) ## build the last commit twice and compare the programs byte by byte
	@./scripts/reproducible

.PHONY: fuzz
fuzz: $(GUEST) | $(GO) ## fuzz every parser for FUZZTIME (default 1m) each
	@./scripts/fuzz $(or $(FUZZTIME),1m)

.PHONY: install
install: build ## bin/tare to PREFIX/bin (default /usr/local)
	install -D -m 0755 bin/tare $(DESTDIR)$(PREFIX)/bin/tare

.PHONY: packages
packages: build ## bin/packages: .deb, .rpm and .apk of bin/tare, with manual pages and completions
	@rm -rf bin/packages
	@VERSION=$(VERSION) ./scripts/package bin/packages
	@ls bin/packages

.PHONY: clean
clean: ## remove what was built here; images in /var/lib/tare stay
	rm -rf bin $(GUEST)

.PHONY: help
help: ## this list
	@sed -n 's/^\([a-z-]*\):.* ## /\1\t/p' $(MAKEFILE_LIST) | while IFS="$$(printf '\t')" read -r t d; do printf '  make %-14s %s\n' "$$t" "$$d"; done
