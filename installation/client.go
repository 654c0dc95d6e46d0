package installation

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strings"

	"github.com/chinvex/chinvex/claude/settings"
	"github.com/chinvex/chinvex/project"
)

// HasStartupHook tells whether a session that is started in dir runs a start-up hook of
// ours from a settings file: the project's, or the user's own.
func HasStartupHook(dir string) bool {
	files := []string{filepath.Join(dir, sharedName), filepath.Join(dir, localName)}
	if root, main, ok := project.WorkTreeRoot(dir); ok {
		files = append(files, filepath.Join(root, localName), filepath.Join(main, localName))
	}
	files = append(files, filepath.Join(userDir(), "settings.json"))
	for _, name := range files {
		data, err := project.ReadRegular(name, maxSettings)
		if err != nil {
			continue
		}
		entries, _ := settings.Installed(data)
		for _, e := range entries {
			if own, ok := settings.Recognise(e.Command); ok && own.Brief && !own.Plugin {
				return true
			}
		}
	}
	return false
}

// PluginEnabled tells whether the user's own settings of the client enable our plugin.
func PluginEnabled() bool {
	data, err := project.ReadRegular(filepath.Join(userDir(), "settings.json"), maxSettings)
	if err != nil {
		return false
	}
	var user struct {
		EnabledPlugins map[string]any `json:"enabledPlugins"`
	}
	_ = json.Unmarshal(data, &user)
	for name, on := range user.EnabledPlugins {
		if plugin, _, _ := strings.Cut(name, "@"); plugin == "chinvex" && on == true {
			return true
		}
	}
	return false
}

// userDir is where the client keeps the user's own settings.
func userDir() string {
	if dir := os.Getenv("CLAUDE_CONFIG_DIR"); dir != "" {
		return dir
	}
	home, _ := os.UserHomeDir()
	return filepath.Join(home, ".claude")
}
