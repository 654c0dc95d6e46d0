package server

import (
	"net/http"
	"net/http/httptest"
	"testing"
)

func TestRouterMatchesPrefix(t *testing.T) {
	r := NewRouter()
	r.Handle("GET", "/static/", http.NotFoundHandler())
	w := httptest.NewRecorder()
	r.ServeHTTP(w, httptest.NewRequest("GET", "/static/app.js", nil))
	if w.Code != http.StatusNotFound {
		t.Fatal(w.Code)
	}
}

func TestMatchPath(t *testing.T) {
	if matchPath("/a", "/a/b") || !matchPath("/a/", "/a/b") {
		t.Fatal("matchPath")
	}
}
