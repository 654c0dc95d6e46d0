package server

import (
	"net/http"
	"strings"
)

// Router dispatches requests to handlers by method and path.
type Router struct {
	routes   []route
	notFound http.Handler
}

type route struct {
	method, pattern string
	handler         http.Handler
}

// NewRouter returns a Router that answers 404 to everything.
func NewRouter() *Router { return &Router{notFound: http.NotFoundHandler()} }

// Handle registers a handler for a method and a path pattern. A pattern that ends
// in a slash matches everything below it.
func (r *Router) Handle(method, pattern string, h http.Handler) {
	r.routes = append(r.routes, route{method, pattern, h})
}

// ServeHTTP implements http.Handler.
func (r *Router) ServeHTTP(w http.ResponseWriter, req *http.Request) {
	for _, c := range r.routes {
		if c.method == req.Method && matchPath(c.pattern, req.URL.Path) {
			c.handler.ServeHTTP(w, req)
			return
		}
	}
	r.notFound.ServeHTTP(w, req)
}

func matchPath(pattern, path string) bool {
	if strings.HasSuffix(pattern, "/") {
		return strings.HasPrefix(path, pattern)
	}
	return pattern == path
}
