// Preloaded by an agent of a test: its look-ups go to the server in TEST_DNS.
import { Resolver } from 'node:dns/promises'

const servers = [process.env['TEST_DNS'] ?? '']

for (const method of ['resolve4', 'resolve6'] as const) {
  const resolve = Resolver.prototype[method]
  Resolver.prototype[method] = function (this: Resolver, ...args: Parameters<typeof resolve>) {
    this.setServers(servers)
    return Reflect.apply(resolve, this, args)
  } as never
}
