// Command coredns is CoreDNS with only the plugins a cluster's own names need.
//
// The stock build carries every cloud provider's SDK and takes four times as long to compile.
package main

import (
	"github.com/coredns/coredns/core/dnsserver"
	"github.com/coredns/coredns/coremain"

	_ "github.com/coredns/coredns/plugin/bind"
	_ "github.com/coredns/coredns/plugin/cache"
	_ "github.com/coredns/coredns/plugin/errors"
	_ "github.com/coredns/coredns/plugin/health"
	_ "github.com/coredns/coredns/plugin/kubernetes"
	_ "github.com/coredns/coredns/plugin/ready"
	_ "github.com/coredns/coredns/plugin/template"
)

func main() {
	// The order is the order in which a query passes them.
	dnsserver.Directives = []string{"bind", "health", "ready", "errors", "cache", "kubernetes", "template"}
	coremain.Run()
}
