# What a developer does; `just` alone lists it.

default:
    @just --list

# Build the three programs into bin/
build:
    go build -o bin/chinvex ./cmd/chinvex
    go build -ldflags='-s -w' -o bin/chinvex-hook ./cmd/hook
    go build -o bin/chinvex-mcp ./cmd/mcp

# Put them into a folder, Go's bin by default
install dir=`echo "$(go env GOPATH)/bin"`: build
    install -m 755 bin/chinvex bin/chinvex-hook bin/chinvex-mcp {{dir}}

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

# Fuzz every target for a while: just fuzz 60s
fuzz time="20s":
    bash .ci/fuzz {{time}}

# Measure ingest and search on checkouts: just bench ~/src/flask ~/src/ruff
bench +dirs:
    go run ./bench {{dirs}}
