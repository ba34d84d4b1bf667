# Espalier needs Go 1.26 and make, nothing else.
#
#   make demo      build, then raw images and captions in, a scored report out (minutes)
#   make test      the whole test suite
#   make check     format, vet, staticcheck, layers, portable and arm64 builds
#   make fmt       format all sources
#   make bench     the benchmarks of all packages, each for a short time
#   make bench-peers  ours beside PyTorch, SentencePiece, pycocoevalcap, polars ... (needs Python)
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
	@echo '-- gofmt, gofumpt'; test -z "$$(gofmt -l $(SOURCES) | tee /dev/stderr)" && test -z "$$($(TOOL) gofumpt -l $(SOURCES) | tee /dev/stderr)"
	@echo '-- go vet'; $(GO) vet ./...
	@echo '-- go vet, portable kernels'; $(GO) vet -tags purego ./...
	@echo '-- go build, arm64'; GOARCH=arm64 $(GO) build ./... && GOARCH=arm64 $(GO) vet ./...
	@echo '-- staticcheck'; $(TOOL) staticcheck ./...
	@echo '-- layers'; $(GO) test -run 'TestLayers|TestThirdParty' ./cmd/espalier

fmt:
	$(TOOL) gofumpt -w $(SOURCES)

bench:
	$(GO) test -run '^$$' -bench . -benchtime 100ms ./...

# Times us and other programs on the same work; ONLY=gemm,acort for a part, JSON=1 for JSON lines. See docs/performance.md.
bench-peers:
	@mkdir -p bin && $(GO) build -o bin/benchpeers ./cmd/benchpeers
	@bin/benchpeers $(if $(ONLY),-only '$(ONLY)') $(if $(JSON),-json)

generate:
	$(GO) generate ./...

clean:
	rm -rf bin out
