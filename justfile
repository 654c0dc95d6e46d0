# What a developer does; `just` alone lists it.

default:
    @just --list

# Build the three programs into bin/
build:
    go build -ldflags='-s -w' -o bin/chinvex ./cmd/chinvex
    go build -ldflags='-s -w' -o bin/chinvex-hook ./cmd/hook
    go build -ldflags='-s -w' -o bin/chinvex-mcp ./cmd/mcp

# Put them into a folder, Go's bin by default
install dir=`echo "$(go env GOPATH)/bin"`: build
    install -m 755 bin/chinvex bin/chinvex-hook bin/chinvex-mcp {{dir}}

# Put manual pages and completions where a shell finds them
install-docs prefix="~/.local/share": build
    mkdir -p {{prefix}}/man/man1 {{prefix}}/bash-completion/completions {{prefix}}/zsh/site-functions {{prefix}}/fish/vendor_completions.d
    cp docs/man/*.1 {{prefix}}/man/man1/
    bin/chinvex completion bash > {{prefix}}/bash-completion/completions/chinvex
    bin/chinvex completion zsh > {{prefix}}/zsh/site-functions/_chinvex
    bin/chinvex completion fish > {{prefix}}/fish/vendor_completions.d/chinvex.fish

# The tests, as CI runs them
test:
    go test ./...

# Everything that CI does
ci:
    bash .ci/run

# Golden files anew; look at the diff before you commit it
golden:
    go test ./parse/language -run TestLanguages -update
    go test ./search -run TestGolden -update
    go test ./cmd/mcp/... -run TestSchemas -update
    go test ./cmd/chinvex -run TestManPages -update
    go test ./claude/settings ./client ./memory/... -update

# Fuzz every target for a while: just fuzz 60s
fuzz time="20s":
    bash .ci/fuzz {{time}}

# Measure ingest and search on checkouts: just bench ~/src/flask ~/src/ruff
bench +dirs:
    go run ./bench {{dirs}}

# The grammars' C programs under the address sanitizer.
sanitize:
    ASAN_OPTIONS=detect_leaks=0 go test -asan ./parse/source
