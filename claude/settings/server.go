package settings

import (
	"errors"
	"fmt"
	"slices"

	"github.com/tailscale/hujson"
)

// serverName is our key in mcpServers, serverProgram its command.
const (
	serverName    = "chinvex"
	serverProgram = "chinvex-mcp"
)

// InstallServer puts our MCP server into .mcp.json, nil when there is none yet: args
// are its arguments. Keys that a person gave the server stay. An error says what about the
// file is odd, such as a server of that name that is not ours; nothing must be written
// then.
func InstallServer(old []byte, args []string) (Change, error) {
	d, err := open(old)
	if err != nil {
		return Change{}, err
	}
	c := Change{Warnings: d.warnings()}
	words := list{}
	for _, a := range args {
		words = append(words, a)
	}
	server := object{{"type", "stdio"}, {"command", serverProgram}, {"args", words}}

	i, twice := lookup(d.top, "mcpServers")
	if twice {
		return Change{}, errors.New(`it has "mcpServers" twice, of which the client reads the last; make them one`)
	}
	if i < 0 {
		d.add(container{obj: d.top, start: d.root.StartOffset}, "mcpServers", object{{serverName, server}})
		c.Bytes = d.bytes()
		return c, nil
	}
	v := d.top.Members[i].Value
	servers, ok := v.Value.(*hujson.Object)
	if !ok {
		return Change{}, fmt.Errorf(`its "mcpServers" is %s, not an object; make it one, or take it out`, kind(v))
	}
	i, twice = lookup(servers, serverName)
	switch {
	case twice:
		return Change{}, fmt.Errorf("it has the server %q twice, of which the client reads the last; make them one", serverName)
	case i < 0:
		d.add(container{obj: servers, start: v.StartOffset}, serverName, server)
	case !ourServer(servers.Members[i].Value):
		return Change{}, fmt.Errorf("its server %q is not ours; rename it first", serverName)
	default:
		v := servers.Members[i].Value
		ours := v.Value.(*hujson.Object)
		d.set(ours, v.StartOffset, "command", serverProgram)
		if ai, _ := lookup(ours, "args"); ai < 0 {
			if len(args) > 0 {
				d.add(container{obj: ours, start: v.StartOffset}, "args", words)
			}
		} else if was, ok := stringsOf(ours.Members[ai].Value); !ok || !slices.Equal(was, args) {
			fresh, err := hujson.Parse(d.style.render(nil, words, ""))
			if err != nil {
				return Change{}, err
			}
			ours.Members[ai].Value.Value = fresh.Value
		}
	}
	c.Bytes = d.bytes()
	return c, nil
}

// UninstallServer takes our server out of .mcp.json. empty tells that nothing is left
// but an empty object, with or without an empty "mcpServers".
func UninstallServer(old []byte) (c Change, removed, empty bool, err error) {
	d, err := open(old)
	if err != nil {
		return Change{}, false, false, err
	}
	for _, path := range slices.Backward(d.servers()) {
		d.take(found{path: path})
		removed = true
	}
	if c.Bytes = old; removed {
		c.Bytes = d.bytes()
	}
	return c, removed, d.bare("mcpServers"), nil
}

// InstalledServer tells whether our server is in .mcp.json.
func InstalledServer(data []byte) (bool, error) {
	d, err := open(data)
	if err != nil {
		return false, err
	}
	return len(d.servers()) > 0, nil
}

// servers are the paths to our server, of which there is one in a file that holds no
// key twice.
func (d *document) servers() (paths [][]step) {
	for ti, m := range d.top.Members {
		servers, ok := m.Value.Value.(*hujson.Object)
		if text(m.Name) != "mcpServers" || !ok {
			continue
		}
		for i, s := range servers.Members {
			if text(s.Name) == serverName && ourServer(s.Value) {
				paths = append(paths, []step{{container{obj: servers}, i}, {container{obj: d.top}, ti}})
			}
		}
	}
	return paths
}

// ourServer tells whether a server runs chinvex-mcp, or chinvex mcp, over stdio.
func ourServer(v hujson.Value) bool {
	server, ok := v.Value.(*hujson.Object)
	if !ok {
		return false
	}
	if i, twice := lookup(server, "type"); twice || i >= 0 && text(server.Members[i].Value) != "stdio" {
		return false
	}
	i, twice := lookup(server, "command")
	if i < 0 || twice {
		return false
	}
	var args []string
	if ai, twice := lookup(server, "args"); twice {
		return false
	} else if ai >= 0 {
		args, _ = stringsOf(server.Members[ai].Value)
	}
	name := base(text(server.Members[i].Value))
	return name == serverProgram || name == "chinvex" && len(args) > 0 && args[0] == "mcp"
}
