# tare: what does virtualization cost on this machine, and does it isolate?
#
#   make build   bin/tare, nothing else
#   make quick   install what is missing, build, and measure this machine
#   make test    install what is missing and run every test
#   make bench   what tare itself costs

SHELL := /bin/bash
.DELETE_ON_ERROR:
.SUFFIXES:

GO_VERSION := 1.26.8
# A Go of our own where the system has none, or one that is too old.
GO := $(shell ./scripts/find-go $(GO_VERSION))
export CGO_ENABLED ?= 0

AGENT   := internal/agentbin/embedded/tare-agent.gz
SOURCES := $(shell find cmd internal -name '*.go' -not -name '*_test.go') $(shell find internal -path '*/builtin/*' -o -path '*/embedded/README') go.mod go.sum
VERSION := $(shell git describe --always --dirty --tags 2>/dev/null || echo unknown)

.PHONY: build quick test bench lint clean deps deps-test image

build: bin/tare

bin/tare: $(SOURCES) $(AGENT)
	$(GO) build -trimpath -ldflags '-s -w -X main.version=$(VERSION)' -o $@ ./cmd/tare

$(AGENT): $(shell find cmd/tare-agent internal/agent -name '*.go' -not -name '*_test.go') go.mod
	@mkdir -p bin
	$(GO) build -trimpath -ldflags '-s -w' -o bin/tare-agent ./cmd/tare-agent
	gzip -9nc bin/tare-agent > $@
