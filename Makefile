# Espalier needs Go 1.26 and make, nothing else.
#
#   make demo      build, then raw images and captions in, a scored report out (minutes)
#   make test      the whole test suite
#   make check     format, vet, staticcheck, layers, portable and arm64 builds
#   make fmt       format all sources
#   make bench     the benchmarks of all packages, each for a short time
#   make generate  what is generated: assembly, tables

GO   ?= go
export CGO_ENABLED = 0
export GOFLAGS := $(shell $(GO) env GOFLAGS) -trimpath

JOB  ?= jobs/demo.yaml
OUT  ?= out/demo
ONLY ?=
TOOL  = $(GO) tool -modfile=cmd/tools.mod
SOURCES = $(shell find . -name '*.go' -not -path './out/*')

.PHONY: build demo test check fmt bench bench-peers generate clean

build:
	@$(GO) build -o bin/espalier ./cmd/espalier

# The store and the report lie in $(OUT); what is done is not done again.
demo: build
	@bin/espalier run $(JOB) --store '$(OUT)/store' --report '$(OUT)'

test:
	$(GO) test -timeout 20m ./...

check:
	@echo '-- gofmt, gofumpt'; test -z "$$(gofmt -l $(SOURCES) | tee /dev/stderr)"; test -z "$$($(TOOL) gofumpt -l $(SOURCES) | tee /dev/stderr)"
	@echo '-- go vet'; $(GO) vet ./...
	@echo '-- go vet, portable kernels'; $(GO) vet -tags purego ./...
	@echo '-- go build, arm64'; GOARCH=arm64 $(GO) build ./... && GOARCH=arm64 $(GO) vet ./...
	@echo '-- staticcheck'; $(TOOL) staticcheck ./...
	@echo '-- layers'; $(GO) test -run 'TestLayers|TestThirdParty' ./cmd/espalier

fmt:
	$(TOOL) gofumpt -w $(SOURCES)

bench:
	$(GO) test -run '^$$' -bench . -benchtime 100ms ./...

# Times other programs on the same work; see docs/README.md.
bench-peers:
	@test -d cmd/benchpeers || { echo 'make bench-peers: no folder cmd/benchpeers, which holds what is compared with other programs' >&2; exit 1; }
	$(GO) run ./cmd/benchpeers $(if $(ONLY),-only $(ONLY))

generate:
	$(GO) generate ./...

clean:
	rm -rf bin out
