// Preloaded by an agent of a test: its look-ups go to the server in TEST_DNS.
import { Resolver } from 'node:dns/promises'

const servers = [process.env['TEST_DNS'] ?? '']

const prepared = new WeakSet<Resolver>() // servers cannot change while a query runs

for (const method of ['resolve4', 'resolve6'] as const) {
  const resolve = Resolver.prototype[method]
  Resolver.prototype[method] = function (this: Resolver, ...args: Parameters<typeof resolve>) {
    if (!prepared.has(this)) this.setServers(servers)
    prepared.add(this)
    return Reflect.apply(resolve, this, args)
  } as never
}
