package conform

import (
	"fmt"
	"os"

	"deviceagent/bridge/catalogfile"
	shipped "deviceagent/packaging/catalog"
	"deviceagent/taskmanager/core/catalog"
)

// LoadCatalog reads a catalog's folder, or a file with entries that come beside those of the shipped catalog, as "deviceagentctl
// catalog add" takes them.
func LoadCatalog(path string) (*catalog.Catalog, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("cannot read the catalog: %w", err)
	}
	var c *catalog.Catalog
	if info.IsDir() {
		c, _, err = catalogfile.Load(os.DirFS(path))
	} else {
		var text []byte
		if text, err = os.ReadFile(path); err == nil {
			_, c, err = catalogfile.Add(shipped.Files, text)
		}
	}
	if err != nil {
		return nil, fmt.Errorf("cannot read the catalog %s: %w", path, err)
	}
	return c, nil
}
