package door

import (
	"time"

	"github.com/chinvex/chinvex/memory/maintainer"
	"github.com/chinvex/chinvex/project"
	"github.com/chinvex/chinvex/project/exclusion"
)

// Memory says how the memory files of a repository of the context are updated now.
func (d *Door) Memory(r project.Repository) (maintainer.Options, error) {
	excluded, err := exclusion.Rules(r.Root, &d.Settings.Index)
	return maintainer.Options{Repo: r, Now: time.Now(), Exclude: excluded}, err
}
